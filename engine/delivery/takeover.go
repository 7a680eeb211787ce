// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// takeOverLoop takes over from those that no longer sign. It is not the loop that signs, because what it does may take longer than a sign
// lives.
func (c *Courier) takeOverLoop(ctx context.Context) {
	said := again.Reminder{Every: time.Hour}
	for {
		gone, err := c.config.Trust.Overdue(ctx)
		if err != nil {
			return
		}
		if err := c.takeOver(ctx, gone); ctx.Err() == nil {
			c.warn(&said, "cannot look after all daemons that are gone", err)
		}
	}
}

// takeOver looks through the tickets that daemons answer for whose sign of life is gone. The set of a living one is read by nobody
// else, so a fleet does not adopt what is merely backing off.
func (c *Courier) takeOver(ctx context.Context, gone []store.Silent) error {
	var failed []error // of one daemon: the others are looked after all the same
	for _, one := range gone {
		if !c.config.Trust.Steady() {
			break // the look was some time ago
		}
		if err := c.LookAfter(ctx, one); err != nil {
			failed = append(failed, fmt.Errorf("daemon %s: %w", one.ID, err))
		}
	}
	return errors.Join(failed...)
}

// LookAfter goes through the hints of a daemon that is gone. One that has none leaves; it signs again if it comes back.
func (c *Courier) LookAfter(ctx context.Context, gone store.Silent) error {
	left, err := c.eachHint(ctx, gone.ID, everyShard, func(ctx context.Context, id store.TicketID, hint store.Hint) (bool, error) {
		return c.inherit(ctx, id, gone.ID, hint)
	})
	if err != nil || len(left) > 0 {
		return err
	}
	return c.rest(ctx, gone)
}

// rest has a daemon leave that answers for nothing. A hint that was put meanwhile is looked for once more.
func (c *Courier) rest(ctx context.Context, gone store.Silent) error {
	leave := c.store.Rest
	if gone.ID == store.Offered {
		leave = c.store.Forget
	}
	if left, err := leave(ctx, gone); err != nil || !left {
		return err
	}
	if n, err := c.store.Hinted(ctx, gone.ID); err != nil || n == 0 {
		return err
	}
	return c.store.Know(ctx, gone.ID)
}

// inherit takes what it can of one ticket: first what this outbox knows of it onto the ticket, then the content into the outbox,
// and where this daemon has every unsettled channel, its own hint and the ownership. In that order a daemon whose outbox has no room
// owns nothing, and a crash leaves the ticket in a set that is looked through. With only some channels it delivers those, and owner and
// hint stay for others.
func (c *Courier) inherit(ctx context.Context, id store.TicketID, gone string, hint store.Hint) (dropped bool, err error) {
	s, err := c.read(ctx, id)
	if err != nil {
		return false, err
	}
	switch {
	case (s.State() != store.Notifying || s.Owner() != gone) && time.Since(hint.At()) < lateWrite:
		return false, nil // the write may land yet for which the hint was put: NOTIFYING, or the ownership
	case s.State() != store.Notifying || s.Owner() != gone:
		return true, c.store.DropHint(ctx, gone, hint)
	}
	all, some := c.serves(s.Hash)
	if !some {
		return false, nil // pending and visible, for a daemon that has a channel
	}
	if _, err := c.answerFor(ctx, id, s.Hash); err != nil || !all {
		return false, err
	}
	if err := c.hint(ctx, c.store.AddHint, c.box.ID(), id); err != nil {
		return false, err
	}
	owned, err := c.own(ctx, id, s.Intent(), gone, c.box.ID(), "from daemon "+gone)
	if err != nil || !owned {
		return false, err
	}
	c.log.Warn("delivering for a daemon that is gone, or cannot", "ticket", id.String(), "daemon", gone)
	return true, c.store.DropHint(ctx, gone, hint)
}

// lacks reports whether one of these that is not settled is not configured here.
func (c *Courier) lacks(channels map[string]outbox.Delivery) bool {
	for name, d := range channels {
		if !d.Status.Settled() && c.channel(name, d.Type) == nil {
			return true
		}
	}
	return false
}

// passOn offers a ticket that this daemon owns and cannot deliver on every channel, and closes what it has of it when the ticket is
// done. The channels that it has it delivers as before.
func (c *Courier) passOn(ctx context.Context, id store.TicketID, in outbox.Intent) error {
	s, err := c.glance(ctx, in)
	if err != nil {
		return err
	}
	current := s.Intent() == in.ID && s.State() == store.Notifying
	switch {
	case !current && s.Knows(in.ID):
		return c.box.Shut(in.Ref)
	case current && s.Owner() == c.box.ID():
		// From now on others may send it, so it is sent no more without asking.
		if err := c.box.Yield(in.Ref); err != nil {
			return err
		}
		return c.offer(ctx, id, in.ID)
	}
	return nil
}

// offer gives a ticket to whoever can deliver it, as this daemon lives and cannot: its configuration has a channel no more, or its outbox
// no room. First the hint, as in inherit. The own hint stays for as long as the outbox has
// something of it.
func (c *Courier) offer(ctx context.Context, id store.TicketID, intent string) error {
	err := c.offerOf(ctx, id, intent, c.box.ID(), "offered to the daemons that can deliver it: this one cannot on every channel")
	if err == nil {
		c.log.Warn("cannot deliver on every channel that a notification was accepted for; it is offered to other daemons", "ticket", id.String())
	}
	return err
}

// offerOf offers a ticket that a daemon answers for.
func (c *Courier) offerOf(ctx context.Context, id store.TicketID, intent, from, why string) error {
	if err := c.store.AddHint(ctx, store.Offered, id); err != nil {
		return err
	}
	if err := c.store.Know(ctx, store.Offered); err != nil {
		return err
	}
	_, err := c.own(ctx, id, intent, from, store.Offered, why)
	return err
}
