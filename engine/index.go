// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

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

// index keeps the list of all tickets by time of last write. It is in another slot than they are, so no script of theirs can
// write it: it is a hint for listings, never the truth.
type index struct {
	*Engine
	mu      sync.Mutex
	touched map[TicketID]time.Time
	wake    chan struct{}
}

func newIndex(e *Engine) *index {
	return &index{Engine: e, touched: map[TicketID]time.Time{}, wake: make(chan struct{}, 1)}
}

// touch notes that a ticket was written.
func (x *index) touch(id TicketID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.touched[id] = time.Now()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *index) loop(ctx context.Context) {
	for {
		select {
		case <-x.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(indexDelay):
		case <-ctx.Done():
			return
		}
		if err := x.flush(ctx); err != nil && ctx.Err() == nil {
			x.log.Warn("cannot write the index of tickets; listings may lack some", "error", err)
		}
	}
}

// flush writes what was touched.
func (x *index) flush(ctx context.Context) error {
	x.mu.Lock()
	touched := x.touched
	x.touched = map[TicketID]time.Time{}
	x.mu.Unlock()
	if len(touched) == 0 {
		return nil
	}
	members := make([]redis.Z, 0, len(touched))
	for id, at := range touched {
		members = append(members, redis.Z{Score: float64(at.UnixMilli()), Member: id.String()})
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := x.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAddArgs(ctx, x.keys.index(), redis.ZAddArgs{GT: true, Members: members})
		p.ZRemRangeByRank(ctx, x.keys.index(), 0, -indexMost-1)
		return nil
	})
	if err != nil {
		return unavailable(err)
	}
	return nil
}
