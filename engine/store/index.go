// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The index of all tickets is written in batches, this long after the first write of each, and keeps so many tickets.
const (
	indexDelay = 50 * time.Millisecond
	indexMost  = 100_000
)

// index gathers which tickets were written. The list of all tickets, by time of last write, is in another slot than they are, so no
// script of theirs can write it: it is a hint for listings, never the truth.
type index struct {
	mu      sync.Mutex
	touched map[TicketID]Stand
	wake    chan struct{}
	writing Turnstile // so that a listing comes after what is being written
}

func newIndex() *index {
	return &index{touched: map[TicketID]Stand{}, wake: make(chan struct{}, 1), writing: NewTurnstile()}
}

// Touch notes how a ticket stands that was written.
func (s *Store) Touch(id TicketID, is Stand) {
	x := s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if last, ok := x.touched[id]; !ok || is.Revision >= last.Revision { // the answers of two writes may come in another order
		x.touched[id] = is
	}
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// KeepIndex writes the index until the context ends.
func (s *Store) KeepIndex(ctx context.Context) {
	for {
		select {
		case <-s.index.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(indexDelay):
		case <-ctx.Done():
			return
		}
		if err := s.flushIndex(ctx); err != nil && ctx.Err() == nil {
			s.c.Logger.Warn("cannot write the index of tickets; listings may lack some", "error", err)
		}
	}
}

// flushIndex writes what was touched.
func (s *Store) flushIndex(ctx context.Context) error {
	x := s.index
	if err := x.writing.Enter(ctx); err != nil {
		return err
	}
	defer x.writing.Leave()
	x.mu.Lock()
	touched := x.touched
	x.touched = map[TicketID]Stand{}
	x.mu.Unlock()
	if len(touched) == 0 {
		return nil
	}
	members := make([]redis.Z, 0, len(touched))
	for id, is := range touched {
		members = append(members, redis.Z{Score: float64(is.UpdatedAt.UnixMilli()), Member: id.String()})
	}
	return s.together(ctx, func(p redis.Pipeliner, ctx context.Context) {
		p.ZAddArgs(ctx, s.Keys.Index(), redis.ZAddArgs{GT: true, Members: members})
		p.ZRemRangeByRank(ctx, s.Keys.Index(), 0, -indexMost-1)
	})
}

// CallTimeout is the time that one call may ask Redis, with its retries and with its wait for calls before it.
const CallTimeout = 4 * time.Second

// together sends commands together, in the time that one call may ask Redis.
func (s *Store) together(ctx context.Context, add func(redis.Pipeliner, context.Context)) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	_, err := s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		add(p, ctx)
		return nil
	})
	return unavailableOrNil(err)
}
