// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The walk reads so many keys at a time, with a pause that keeps it from being felt.
const (
	walkBatch = 200
	walkPause = 20 * time.Millisecond
	walkEvery = time.Hour       // between the end of one and the next
	walkLease = 2 * time.Minute // for which a walk that is not heard of counts as under way
	walkSlack = time.Minute     // what stands in the index from so long before a ticket was read, the ticket must know of
)

// BeginWalk reports whether this daemon is to walk now: no other does, and none did for an hour, or not since Redis lost data.
func (s *Store) BeginWalk(ctx context.Context, daemon string) (bool, error) {
	whole, _, err := s.look(ctx)
	if err != nil {
		return false, err
	}
	if whole {
		if n, err := s.c.Redis.Exists(ctx, s.Keys.walk()).Result(); err != nil || n > 0 {
			return false, unavailableOrNil(err)
		}
	}
	first, err := s.c.Redis.SetNX(ctx, s.Keys.walking(), daemon, walkLease).Result()
	return first, unavailableOrNil(err)
}

// Looked reports whether it is known which data Redis has.
func (s *Store) Looked() bool { return len(s.c.Watch.Stores()) > 0 }

// look reports whether the index is whole: all tickets were walked through since Redis had other data than now, and since a daemon
// died that owed it something; and what Redis' clock says.
func (s *Store) look(ctx context.Context) (whole bool, now time.Time, err error) {
	var walked *redis.MapStringStringCmd
	var clock *redis.TimeCmd
	var owed *redis.ZSliceCmd
	_, err = s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		walked, clock, owed = p.HGetAll(ctx, s.Keys.walked()), p.Time(ctx), p.ZRangeWithScores(ctx, s.Keys.owed(), 0, 0)
		return nil
	})
	if err != nil {
		return false, now, Unavailable(err)
	}
	if some := owed.Val(); len(some) > 0 && some[0].Score < float64(clock.Val().Add(-owedLong).UnixMilli()) {
		return false, clock.Val(), nil
	}
	stores := s.c.Watch.Stores()
	for key, incarnation := range stores {
		if walked.Val()[key] != incarnation {
			return false, clock.Val(), nil
		}
	}
	return len(stores) > 0, clock.Val(), nil
}

// indexed writes what is yet to be indexed, for a listing. incomplete: some of that could not be written, or the index is not whole.
func (s *Store) indexed(ctx context.Context) (now time.Time, incomplete bool, err error) {
	unwritten := s.flushIndex(ctx)
	whole, now, err := s.look(ctx)
	return now, unwritten != nil || !whole, err
}

// Walk goes through all tickets on each master and puts the index right. It hands each over with the fields that tell whether delivery
// is in order: state, owner and intent. What each returns about a ticket, damaged keys too, is its own; it ends with the context or an
// ErrUnavailable.
func (s *Store) Walk(ctx context.Context, each func(key string, id TicketID, h Hash, err error)) error {
	stores, begun := s.c.Watch.Stores(), time.Now()
	var err error
	if cluster, ok := s.c.Redis.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return s.walkNode(ctx, node, each) })
	} else {
		err = s.walkNode(ctx, s.c.Redis, each)
	}
	if err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	_, err = s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		if len(stores) > 0 {
			p.HSet(ctx, s.Keys.walked(), stores)
		}
		p.ZRemRangeByScore(ctx, s.Keys.owed(), "-inf", decimal(float64(begun.UnixMilli())))
		p.Set(ctx, s.Keys.walk(), s.c.Host, walkEvery)
		p.Del(ctx, s.Keys.walking())
		return nil
	})
	return unavailableOrNil(err)
}

func (s *Store) walkNode(ctx context.Context, node redis.Cmdable, each func(string, TicketID, Hash, error)) error {
	pattern := globEscape.Replace(s.Keys.prefix) + ":{*}:ticket:*"
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, walkBatch).Result()
		if err != nil {
			return Unavailable(err)
		}
		if err := s.walkPage(ctx, keys, each); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
		if err := walkRest(ctx); err != nil {
			return err
		}
	}
}

func walkRest(ctx context.Context) error {
	select {
	case <-time.After(walkPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Store) walkPage(ctx context.Context, keys []string, each func(string, TicketID, Hash, error)) error {
	var clock *redis.TimeCmd
	answers := make([]standing, len(keys))
	if err := s.listTogether(ctx, func(p redis.Pipeliner) {
		p.Expire(ctx, s.Keys.walking(), walkLease)
		clock = p.Time(ctx)
		for i, key := range keys {
			answers[i] = askStanding(ctx, p, key, "owner", "intent")
		}
	}); err != nil {
		return err
	}
	entries := map[TicketID]entry{}
	for i, key := range keys {
		h, is := answers[i].answer()
		id, ok := s.Keys.ticketAt(key)
		if is.State != "" && ok {
			entries[id] = entry{is, is.score(), float64(clock.Val().Add(-walkSlack).UnixMilli())}
		}
		each(key, id, h, unavailableOrNil(answers[i].fields.Err()))
	}
	_, err := s.place(ctx, entries)
	return err
}

var globEscape = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)
