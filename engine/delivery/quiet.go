// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"sync"

	"github.com/picketd/picket/engine/store"
)

// quiet remembers how hinted tickets stood when there was last nothing to do about them: those that wait for a person, for days
// maybe. As long as one stands so, it is not read whole again.
type quiet struct {
	mu sync.Mutex
	by map[store.TicketID]string
}

func (q *quiet) is(id store.TicketID, as string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, ok := q.by[id]
	return ok && was == as
}

// note remembers it; empty: there is something to do.
func (q *quiet) note(id store.TicketID, as string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if as == "" {
		delete(q.by, id)
		return
	}
	if q.by == nil {
		q.by = map[store.TicketID]string{}
	}
	q.by[id] = as
}
