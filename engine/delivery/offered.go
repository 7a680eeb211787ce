// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// offered is the owner of tickets whose owner lives and cannot deliver all of them: its configuration has a channel no more, or its
// outbox no room. They are looked through as those of a daemon that is gone.
const offered = "offered"

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

// offer gives a ticket to whoever can deliver it: first the hint, as in inherit. The own hint stays for as long as the outbox has
// something of it.
func (c *Courier) offer(ctx context.Context, id store.TicketID, intent string) error {
	if err := c.store.AddHint(ctx, offered, id.String()); err != nil {
		return err
	}
	_, err := c.own(ctx, id, intent, c.box.ID(), offered, "offered to the daemons that can deliver it: this one cannot on every channel")
	if err == nil {
		c.log.Warn("cannot deliver on every channel that a notification was accepted for; it is offered to other daemons", "ticket", id.String())
	}
	return err
}
