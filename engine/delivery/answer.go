// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Adopt takes the ticket's content into the own outbox, if it is still to be sent or waits for a person, so that a 202 is true here too.
func (c *Courier) Adopt(id store.TicketID, h store.Hash) error {
	if h.State() != store.Notifying {
		return nil
	}
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: id.String(), ID: h.Intent()}, Asset: string(id.Asset), Task: id.Task, Run: h.Run(), Key: id.Key(h.Run()),
		Origin: outbox.Adopted, At: h.Updated(), Severity: h.Severity(), Content: []byte(h.Content()),
		Channels: map[string]outbox.Delivery{},
	}
	for _, ch := range c.config.Channels {
		status := h.Status(ch.Name)
		if status == "" || status.Settled() && status != outbox.Parked || h.Type(ch.Name) != ch.Type {
			continue
		}
		d := outbox.Delivery{Type: ch.Type, AtMostOnce: h.Once(ch.Name, ch.AtMostOnce), Body: h.Body(ch.Name), Status: outbox.Pending, Due: time.Now(), Retried: h.Retried(ch.Name)}
		if status == outbox.Parked {
			d.Status, d.Recorded = status, true
		}
		in.Channels[ch.Name] = d
	}
	if len(in.Channels) == 0 {
		return nil
	}
	return c.box.Adopt(in)
}

// ticketOf is the ticket of an intent.
func ticketOf(in outbox.Intent) store.TicketID {
	return store.ID(store.Asset(in.Asset), in.Task)
}

// asking is the question what a ticket says of an intent's delivery.
func asking(in outbox.Intent) store.Asked {
	return store.Asked{ID: ticketOf(in), Channels: slices.Collect(maps.Keys(in.Channels))}
}

// glance reads what a ticket says of an intent's delivery, and no more.
func (c *Courier) glance(ctx context.Context, in outbox.Intent) (store.Hash, error) {
	hashes, errs := c.store.Glance(ctx, asking(in))
	return hashes[0], errs[0]
}

// putBack tells a ticket what it knew before a failover brought it back: what is settled here and not there. Nothing of that is sent
// again; what was not settled here, because another intent had taken its place, is adopted anew. What a person decided on the ticket
// stands, but for what was sent all the same, and for what was discarded since.
func (c *Courier) putBack(ctx context.Context, in outbox.Intent, s store.Hash) (told bool, err error) {
	all, err := c.box.Ticket(in.Ticket)
	if err != nil {
		return false, err
	}
	for name, d := range in.Channels {
		d = settledBy(all, in.Run, name, d)
		is := s.Status(name)
		overrides := d.Status == outbox.Sent || d.Status == outbox.Discarded && is != outbox.Sent
		if !d.Status.Settled() || d.Status == is || is == "" || is.Settled() && !overrides {
			continue
		}
		told = true
		_, err := c.Outcome(ctx, outbox.Outcome{
			Ref: in.Ref, Asset: in.Asset, Task: in.Task, Run: in.Run, Key: in.Key, Channel: name, Number: d.Attempts,
			Status: d.Status, At: d.At, Error: d.Error,
		})
		if err != nil {
			return true, err
		}
	}
	return told, nil
}

// settledBy is a channel as the intents of its run have settled it: one of them may have told people, or has yet to, because a person had
// it sent once more when Redis had lost it (outbox.Store.Again). That is parked on a ticket that is back.
func settledBy(all []outbox.Intent, run int64, channel string, d outbox.Delivery) outbox.Delivery {
	for _, in := range all {
		other := in.Channels[channel]
		switch {
		case in.Run != run:
		case other.Status == outbox.Sent:
			return other
		case d.Status == outbox.Discarded && in.Origin != outbox.Closed && other.Lost && (!other.Status.Settled() || other.Waits()):
			d.Status, d.Error = outbox.Parked, "a person had it sent once more while Redis had lost this ticket: decide again"
		}
	}
	return d
}

// answerFor has this outbox answer for a ticket: what is settled here and not there, because the ticket fell back, is told to it, and the
// rest is taken into the outbox.
func (c *Courier) answerFor(ctx context.Context, id store.TicketID, s store.Hash) (told bool, err error) {
	in, err := c.box.Get(outbox.Ref{Ticket: id.String(), ID: s.Intent()})
	if errors.Is(err, outbox.ErrNotFound) { // receipts of its run may be here
		in, err = unknown(id, s), nil
	}
	if err == nil {
		told, err = c.putBack(ctx, in, s)
	}
	if err != nil {
		return told, err
	}
	if err := c.Adopt(id, s); err != nil {
		return told, fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	return told, nil
}

// unknown is a ticket's intent that this outbox does not have.
func unknown(id store.TicketID, s store.Hash) outbox.Intent {
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: id.String(), ID: s.Intent()}, Asset: string(id.Asset), Task: id.Task, Run: s.Run(), Key: id.Key(s.Run()),
		Channels: map[string]outbox.Delivery{},
	}
	for _, name := range s.Channels() {
		in.Channels[name] = outbox.Delivery{}
	}
	return in
}

// serves reports whether this daemon has all, and whether it has some, of the ticket's unsettled channels, by name and type.
func (c *Courier) serves(s store.Hash) (all, some bool) {
	all = true
	for _, name := range s.Channels() {
		if s.Status(name).Settled() {
			continue
		}
		mine := c.channel(name, s.Type(name)) != nil
		all, some = all && mine, some || mine
	}
	return all, some
}

// own gives a ticket another owner if it still has the one that it is known to have, and the same intent.
func (c *Courier) own(ctx context.Context, id store.TicketID, intent, from, to, why string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	return c.store.Own(ctx, id, intent, from, to, why)
}
