// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// sweep goes through the index, of all and of each task, and puts right what is not so: of tickets that are gone, and of those that
// Redis has in an older state. The walk over the tickets finds what the index lacks, and not what it has too much.
func (s *Store) sweep(ctx context.Context) error {
	if err := s.sweepPart(ctx, all); err != nil {
		return err
	}
	tasks := &sortedSet{key: s.Keys.Tasks(), at: position{score: math.Inf(1)}}
	c := &candidates{s: s, sets: []*sortedSet{tasks}}
	for !c.ended() {
		if err := c.fill(ctx, walkBatch); err != nil {
			return err
		}
		some := tasks.some
		tasks.some = nil
		for _, z := range some {
			if err := s.sweepPart(ctx, z.Member.(string)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) sweepPart(ctx context.Context, part string) error {
	c := &candidates{s: s, until: time.Now().Add(24 * time.Hour)}
	if part != all {
		c.q.Task = part
	}
	c.open()
	c.seen = nil // it would have the names of them all
	for {
		some, err := c.next(ctx, walkBatch)
		if err != nil {
			return err
		}
		if err := s.check(ctx, some); err != nil || len(some) < walkBatch {
			return err
		}
		if err := walkRest(ctx); err != nil {
			return err
		}
	}
}

// check compares what the index says of tickets with what they are.
func (s *Store) check(ctx context.Context, some []candidate) error {
	answers := make([]standing, len(some))
	if err := s.listTogether(ctx, func(p redis.Pipeliner) {
		p.Expire(ctx, s.Keys.walking(), walkLease)
		for i, one := range some {
			answers[i] = askStanding(ctx, p, s.Keys.Ticket(one.id))
		}
	}); err != nil {
		return err
	}
	for i, one := range some {
		_, is := answers[i].answer()
		s.repair(one, found{stand: is, ok: is.State != "", gone: is.State == "" && answers[i].fields.Err() == nil})
	}
	return s.flushIndex(ctx)
}
