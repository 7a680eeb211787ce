// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Sweep goes through the tickets that this daemon answers for: it takes those that are undelivered and not in its outbox
// into it, and drops the hints that are no longer needed.
func (c *Courier) Sweep(ctx context.Context) error { return c.sweepSets(ctx, everyShard) }

func (c *Courier) sweepSets(ctx context.Context, shards []int) error {
	left, err := c.eachHint(ctx, c.box.ID(), shards, c.sweep)
	for _, shard := range left {
		c.hinted[shard].Store(true)
	}
	return err
}

// sweepSome is Sweep of the sets that had a hint when they were looked at last, or were given one since by this daemon. The others have
// one only if a walk elsewhere put it there.
func (c *Courier) sweepSome(ctx context.Context) error {
	var shards []int
	for _, shard := range everyShard {
		if c.hinted[shard].Swap(false) {
			shards = append(shards, shard)
		}
	}
	return c.sweepSets(ctx, shards)
}

// hint puts a ticket among those that a daemon answers for. The mark comes last: a sweep before it may have come before the hint, too.
func (c *Courier) hint(ctx context.Context, put func(context.Context, string, store.TicketID) error, daemon string, id store.TicketID) error {
	err := put(ctx, daemon, id)
	if daemon == c.box.ID() {
		c.hinted[store.HintShard(id.Asset)].Store(true)
	}
	return err
}

// sweep looks at one: at each intent that the outbox has open for it. It asks Redis for the whole ticket only when there is none, and
// something was written to it since there was nothing to do. The score was read before the ticket: a hint that was put again meanwhile has another.
func (c *Courier) sweep(ctx context.Context, id store.TicketID, hint store.Hint) (dropped bool, err error) {
	intents, err := c.box.Ticket(id.String())
	if err != nil {
		return false, err
	}
	open := false
	for _, in := range intents {
		var failed error
		switch {
		case in.Origin == outbox.Closed:
			continue
		case in.Origin != outbox.Staged && c.lacks(in.Channels):
			failed = c.passOn(ctx, id, in)
		default: // it is being delivered, or its write may land yet
			failed = c.compare(ctx, in)
		}
		open, err = true, errors.Join(err, failed)
	}
	if open {
		return false, err
	}
	as, err := c.store.Stands(ctx, id)
	if err != nil || c.quiet.is(id, as) {
		return false, err
	}
	s, err := c.read(ctx, id)
	if err != nil {
		return false, err
	}
	c.quiet.note(id, "")
	switch {
	case s.State() != store.Notifying:
		return true, c.store.DropHint(ctx, c.box.ID(), hint)
	case s.Owner() != c.box.ID():
		return false, nil
	}
	told, err := c.answerFor(ctx, id, s.Hash)
	if all, _ := c.serves(s.Hash); !all || errors.Is(err, outbox.ErrFull) {
		return false, c.offer(ctx, id, s.Intent())
	}
	if err == nil && !told {
		c.quiet.note(id, as)
	}
	return false, err
}

// compare looks whether the ticket fell back behind what is settled of an open intent, and puts that back.
func (c *Courier) compare(ctx context.Context, in outbox.Intent) error {
	told := false
	for _, d := range in.Channels {
		told = told || d.Status.Settled() && d.Recorded
	}
	if !told {
		return nil
	}
	s, err := c.glance(ctx, in)
	if err != nil {
		return err
	}
	if s.State() != store.Notifying || s.Intent() != in.ID {
		return nil
	}
	_, err = c.putBack(ctx, in, s)
	return err
}
