// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var dropHintScript = newScript("drophint")

// Hint is a ticket among those that a daemon answers for, with the score of when it was put there, ms of a host's clock.
type Hint struct {
	Ticket string
	Score  int64
	Shard  int // in which of the daemon's sets it is
}

// At is when the hint was put.
func (h Hint) At() time.Time { return time.UnixMilli(h.Score) }

// AddHint puts a ticket among those that a daemon answers for. Errors: ErrUnavailable, as of all that is about hints.
func (s *Store) AddHint(ctx context.Context, daemon string, id TicketID) error {
	return s.addHint(ctx, daemon, id, redis.ZAddArgs{})
}

// MissHint is AddHint for a ticket that is not there yet.
func (s *Store) MissHint(ctx context.Context, daemon string, id TicketID) error {
	return s.addHint(ctx, daemon, id, redis.ZAddArgs{NX: true})
}

func (s *Store) addHint(ctx context.Context, daemon string, id TicketID, how redis.ZAddArgs) error {
	how.Members = []redis.Z{{Score: float64(time.Now().UnixMilli()), Member: id.String()}}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	key := s.Keys.Undelivered(daemon, HintShard(id.Asset))
	return s.again(ctx, func() error { return s.c.Redis.ZAddArgs(ctx, key, how).Err() })
}

// DropHint removes a hint that nobody put again since its score was read.
func (s *Store) DropHint(ctx context.Context, daemon string, h Hint) error {
	key := s.Keys.Undelivered(daemon, h.Shard)
	return unavailableOrNil(dropHintScript.Run(ctx, s.c.Redis, []string{key}, h.Ticket, h.Score).Err())
}

// Hints are so many of one set of a daemon's hints from a place on, by score.
func (s *Store) Hints(ctx context.Context, daemon string, shard int, from, most int64) ([]Hint, error) {
	zs, err := s.c.Redis.ZRangeWithScores(ctx, s.Keys.Undelivered(daemon, shard), from, from+most-1).Result()
	hints := make([]Hint, len(zs))
	for i, z := range zs {
		ticket, _ := z.Member.(string)
		hints[i] = Hint{ticket, int64(z.Score), shard}
	}
	return hints, unavailableOrNil(err)
}

// Hinted is how many hints a daemon has.
func (s *Store) Hinted(ctx context.Context, daemon string) (n int64, err error) {
	counts := make([]*redis.IntCmd, HintShards)
	_, err = s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range counts {
			counts[shard] = p.ZCard(ctx, s.Keys.Undelivered(daemon, shard))
		}
		return nil
	})
	for _, count := range counts {
		n += count.Val()
	}
	return n, unavailableOrNil(err)
}
