// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"cmp"
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
	hintsPage   = 200
	atOnceHints = 16 // of each set of hints
	atOnce      = 64
	lateWrite   = time.Hour
)

// everyShard are all the sets of a daemon's hints.
var everyShard = func() (all []int) {
	for shard := range store.HintShards {
		all = append(all, shard)
	}
	return all
}()

// look is what is done about a hint, within the ticket's turn among the notify calls.
type look func(context.Context, store.TicketID, store.Hint) (dropped bool, err error)

// eachHint goes through these sets of a daemon's hints, all at once, so that one on a node that is away delays no other; each in pages,
// several tickets at once. A ticket that fails stops none of the others; the error, if there is one, counts them and names the first.
// left are the sets that have a hint still, or could not be read.
func (c *Courier) eachHint(ctx context.Context, daemon string, shards []int, do look) (left []int, err error) {
	var failed troubles
	stay, errs := make([]bool, len(shards)), make([]error, len(shards))
	var wait sync.WaitGroup
	for i, shard := range shards {
		wait.Go(func() {
			n, err := c.eachIn(ctx, daemon, shard, &failed, do)
			stay[i], errs[i] = n > 0 || err != nil, err
		})
	}
	wait.Wait()
	for i, shard := range shards {
		if stay[i] {
			left = append(left, shard)
		}
	}
	return left, cmp.Or(append(errs, failed.err())...)
}

// eachIn goes through one set and returns how many of its hints are left.
func (c *Courier) eachIn(ctx context.Context, daemon string, shard int, failed *troubles, do look) (left int64, err error) {
	for {
		hinted, err := c.store.Hints(ctx, daemon, shard, left, hintsPage)
		if err != nil {
			return left, err
		}
		left += c.eachOf(ctx, hinted, failed, do)
		if len(hinted) < hintsPage || ctx.Err() != nil {
			return left, nil
		}
	}
}

// eachOf goes through one page and returns how many of its hints are left.
func (c *Courier) eachOf(ctx context.Context, page []store.Hint, failed *troubles, do look) int64 {
	var g errgroup.Group
	g.SetLimit(atOnceHints)
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
