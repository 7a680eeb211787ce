// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
)

// So many hints are read at a time, and so many tickets looked at at once, because each of those on a node that is away takes a call's
// whole time. A NOTIFYING write may land this long after its caller gave up.
const (
	hintsPage = 200
	atOnce    = 64
	lateWrite = time.Hour
)

// eachHint goes through a daemon's hints in pages, several at once, each within the ticket's turn among the notify calls. A ticket
// that fails stops none of the others; the error, if there is one, counts them and names the first.
func (c *Courier) eachHint(ctx context.Context, daemon string, do func(context.Context, store.TicketID, store.Hint) (dropped bool, err error)) error {
	var failed troubles
	for start := int64(0); ; {
		hinted, err := c.store.Hints(ctx, daemon, start, hintsPage)
		if err != nil {
			return err
		}
		start += c.eachOf(ctx, hinted, &failed, do)
		if len(hinted) < hintsPage || ctx.Err() != nil {
			return failed.err()
		}
	}
}

// eachOf goes through one page and returns how many of its hints are left.
func (c *Courier) eachOf(ctx context.Context, page []store.Hint, failed *troubles, do func(context.Context, store.TicketID, store.Hint) (bool, error)) int64 {
	var g errgroup.Group
	g.SetLimit(atOnce)
	left := make([]bool, len(page))
	for i, hint := range page {
		left[i] = true
		name := hint.Ticket
		id, err := store.ParseTicketID(name)
		if err != nil {
			failed.add(name, err)
			continue
		}
		g.Go(func() error {
			leave, err := c.calls.enter(ctx, name)
			if err != nil {
				return nil
			}
			defer leave()
			dropped, err := do(ctx, id, hint)
			if err != nil {
				failed.add(name, err)
			}
			left[i] = !dropped
			return nil
		})
	}
	_ = g.Wait()
	n := int64(0)
	for _, stays := range left {
		if stays {
			n++
		}
	}
	return n
}

// troubles are those of a round through many tickets.
type troubles struct {
	mu     sync.Mutex
	n      int
	ticket string // the first
	first  error
}

func (f *troubles) add(ticket string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n == 1 {
		f.ticket, f.first = ticket, err
	}
}

func (f *troubles) err() error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("cannot deal with %d of the tickets, the first is %s: %w", f.n, f.ticket, f.first)
}

// warn logs a trouble of a loop when it changes, and once an hour; nil is its end.
func (c *Courier) warn(said *again.Reminder, what string, err error) {
	if err == nil {
		said.Over(what)
	} else if said.Due(what, err.Error()) {
		c.log.Warn(what, "error", err)
	}
}
