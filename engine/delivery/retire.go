// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"sync/atomic"

	"github.com/picketd/picket/engine/store"
)

// Retired is what became of the tickets that a daemon answered for which is gone for good.
type Retired struct {
	Taken   int // over by this daemon
	Offered int // to the others: this one has not all their channels, or no room
}

// Retire goes through the hints of a daemon that is gone for good, until none is left.
func (c *Courier) Retire(ctx context.Context, gone string) (Retired, error) {
	var taken, offered atomic.Int64
	_, err := c.eachHint(ctx, gone, everyShard, func(ctx context.Context, id store.TicketID, hint store.Hint) (bool, error) {
		if dropped, err := c.inherit(ctx, id, gone, hint); err == nil && dropped {
			taken.Add(1)
			return true, nil
		}
		s, err := c.read(ctx, id)
		if err != nil {
			return false, err
		}
		// Of one that is not in NOTIFYING a write may land yet: then the walk finds it.
		if s.State() == store.Notifying && s.Owner() == gone {
			if err := c.offerOf(ctx, id, s.Intent(), gone, "offered: daemon "+gone+" is gone for good"); err != nil {
				return false, err
			}
			offered.Add(1)
		}
		return true, c.store.DropHint(ctx, gone, hint)
	})
	return Retired{Taken: int(taken.Load()), Offered: int(offered.Load())}, err
}
