// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// decideLost decides also about what is in this outbox alone, because Redis lost it: what waits for a person (outbox.Delivery.Alone), and
// what is still to be sent, in one of the statuses in question, as on a channel that is here no more. t and err
// are what was answered for the ticket; that it has nothing to decide about is no error when there is something here. The decision is a
// fact in the outbox. The ticket is as it was: what is settled, or is sent anew, comes to stand there as a receipt, which makes anew one
// that is gone.
func (c *Courier) decideLost(ctx context.Context, r Resolution, as outbox.Status, question []outbox.Status, kind audit.Kind, t store.Ticket, err error) (store.Ticket, error) {
	var illegal *store.TransitionError
	if err != nil && !errors.Is(err, store.ErrTicketNotFound) && !errors.Is(err, ErrUnknownChannel) && !errors.As(err, &illegal) {
		return t, err
	}
	if err != nil {
		if err := c.heedTicket(ctx, r.Ticket); err != nil {
			return store.Ticket{}, err
		}
	}
	decided, lostErr := c.decideHere(ctx, r, as, question)
	switch {
	case lostErr != nil:
		return store.Ticket{}, lostErr
	case err == nil || len(decided.Channels) == 0:
		return t, err
	}
	told := r.told(kind)
	told.Asset, told.Task, told.Reason = string(r.Ticket.Asset), r.Ticket.Task, r.Reason+" (in this outbox alone, because Redis had lost it)"
	c.store.Tell(ctx, told)
	s, err := c.read(ctx, r.Ticket)
	if err != nil {
		return t, err
	}
	if t, err = s.Ticket(r.Ticket); errors.Is(err, store.ErrTicketNotFound) {
		return ticketless(r.Ticket, decided), nil
	}
	return t, err
}

// decideHere returns the newest intent that it decided about, with those of its channels, as they are afterwards.
func (c *Courier) decideHere(ctx context.Context, r Resolution, as outbox.Status, question []outbox.Status) (decided outbox.Intent, err error) {
	intents, err := c.box.Ticket(r.Ticket.String())
	if err != nil {
		return decided, fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	for _, in := range intents {
		channels := map[string]outbox.Delivery{}
		for name, d := range in.Channels {
			if in.Origin == outbox.Closed || r.Channel != "" && r.Channel != name {
				continue
			}
			if is, err := c.isHere(ctx, in, d, question); err != nil {
				return decided, err
			} else if !is {
				continue
			}
			if as == outbox.Pending && c.channel(name, d.Type) == nil {
				return decided, &ChannelError{fmt.Sprintf("this host, which alone has the notification, has no channel %s of type %s any more", name, d.Type)}
			}
			err := c.decideOne(in, name, d, as)
			if errors.Is(err, outbox.ErrNotFound) { // another call decided
				continue
			}
			if err != nil {
				return decided, fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
			}
			d.Status, d.At, d.Error = as, time.Now(), ""
			channels[name] = d
		}
		if len(channels) > 0 {
			decided = in
			decided.Channels = channels
		}
	}
	return decided, nil
}

// isHere reports whether a channel of an open intent is decided about in this outbox.
func (c *Courier) isHere(ctx context.Context, in outbox.Intent, d outbox.Delivery, question []outbox.Status) (bool, error) {
	if d.Alone() || in.Origin == outbox.Staged || d.Status.Settled() || !slices.Contains(question, d.Status) {
		return d.Alone(), nil
	}
	s, err := c.glance(ctx, in)
	return err == nil && (s.State() == "" || s.Run() <= in.Run && s.Intent() != in.ID && !s.Knows(in.ID)), err
}

func (c *Courier) decideOne(in outbox.Intent, channel string, d outbox.Delivery, as outbox.Status) error {
	switch as {
	case outbox.Pending:
		return c.box.Again(in.Ref, channel, rand.Text())
	case outbox.Sent: // which the notifier brings to the ticket
		return c.box.Record(outbox.Outcome{Ref: in.Ref, Channel: channel, Number: d.Attempts, Status: as, At: time.Now()}, time.Now(), false)
	}
	return c.box.Decide(in.Ref, map[string]outbox.Status{channel: as})
}

// ticketless is what can be said of a ticket that Redis does not know: what was decided about its notification.
func ticketless(id store.TicketID, in outbox.Intent) store.Ticket {
	t := store.Ticket{
		ID: id, Flow: store.DefaultFlow, State: store.Init, Run: in.Run, Intent: in.ID, CreatedAt: in.At, UpdatedAt: time.Now().Truncate(time.Millisecond).UTC(),
		Steps: map[string]store.Step{}, Delivery: map[string]store.Delivery{},
	}
	for name, d := range in.Channels {
		t.Delivery[name] = store.Delivery{Status: d.Status, Attempts: int64(d.Attempts), At: d.At.Truncate(time.Millisecond).UTC()}
	}
	return t
}
