// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"fmt"
	"sync"
)

// quiet remembers how hinted tickets stood when there was last nothing to do about them: those that wait for a person, for days
// maybe. As long as one stands so, it is not read whole again.
type quiet struct {
	mu sync.Mutex
	by map[TicketID]string
}

func (q *quiet) is(id TicketID, as string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, ok := q.by[id]
	return ok && was == as
}

// note remembers it; empty: there is something to do.
func (q *quiet) note(id TicketID, as string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if as == "" {
		delete(q.by, id)
		return
	}
	if q.by == nil {
		q.by = map[TicketID]string{}
	}
	q.by[id] = as
}

// stands is how a ticket stands, in short: whatever is written to it changes that.
func (e *Engine) stands(ctx context.Context, id TicketID) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	v, err := e.redis.HMGet(ctx, e.keys.ticket(id), "revision", "updated_at", "state", "intent", "owner").Result()
	if err != nil {
		return "", unavailable(err)
	}
	return fmt.Sprint(v...), nil
}
