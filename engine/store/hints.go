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
}

// At is when the hint was put.
func (h Hint) At() time.Time { return time.UnixMilli(h.Score) }

// AddHint puts a ticket among those that a daemon answers for. Errors: ErrUnavailable, as of all that is about hints.
func (s *Store) AddHint(ctx context.Context, daemon, ticket string) error {
	return s.addHint(ctx, daemon, ticket, redis.ZAddArgs{})
}

// MissHint is AddHint for a ticket that is not there yet.
func (s *Store) MissHint(ctx context.Context, daemon, ticket string) error {
	return s.addHint(ctx, daemon, ticket, redis.ZAddArgs{NX: true})
}

func (s *Store) addHint(ctx context.Context, daemon, ticket string, how redis.ZAddArgs) error {
	how.Members = []redis.Z{{Score: float64(time.Now().UnixMilli()), Member: ticket}}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return s.again(ctx, func() error { return s.c.Redis.ZAddArgs(ctx, s.Keys.Undelivered(daemon), how).Err() })
}

// DropHint removes a hint that nobody put again since its score was read.
func (s *Store) DropHint(ctx context.Context, daemon string, h Hint) error {
	return unavailableOrNil(dropHintScript.Run(ctx, s.c.Redis, []string{s.Keys.Undelivered(daemon)}, h.Ticket, h.Score).Err())
}

// Hints are so many of a daemon's hints from a place on, by score.
func (s *Store) Hints(ctx context.Context, daemon string, from, most int64) ([]Hint, error) {
	zs, err := s.c.Redis.ZRangeWithScores(ctx, s.Keys.Undelivered(daemon), from, from+most-1).Result()
	hints := make([]Hint, len(zs))
	for i, z := range zs {
		hints[i].Ticket, _ = z.Member.(string)
		hints[i].Score = int64(z.Score)
	}
	return hints, unavailableOrNil(err)
}

// Hinted is how many hints a daemon has.
func (s *Store) Hinted(ctx context.Context, daemon string) (int64, error) {
	n, err := s.c.Redis.ZCard(ctx, s.Keys.Undelivered(daemon)).Result()
	return n, unavailableOrNil(err)
}
