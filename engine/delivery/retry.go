// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// errRaced: another write came between reading the ticket and writing it.
var errRaced = errors.New("the ticket has moved on")

// Retry sends once more on channels that are dead, parked or unknown, of a ticket in NOTIFYING or FAILED, from this host, which must
// have every channel that is not settled. The key and the bytes stay. It goes through the stages of outbox/doc.go with a new intent.
// Errors: as Discard, and outbox.ErrUnavailable.
func (c *Courier) Retry(ctx context.Context, r Resolution) (store.Ticket, error) {
	if err := c.config.Trust.Identity(); err != nil {
		return store.Ticket{}, err
	}
	ctx, cancel := c.config.Bounded(ctx)
	defer cancel()
	leave, err := c.calls.enter(ctx, r.Ticket.String())
	if err != nil {
		return store.Ticket{}, err
	}
	defer leave()
	for {
		t, err := c.retry(ctx, r)
		if !errors.Is(err, errRaced) {
			return c.decideLost(ctx, r, outbox.Pending, nil, audit.Retried, t, err)
		}
	}
}

func (c *Courier) retry(ctx context.Context, r Resolution) (store.Ticket, error) {
	s, err := c.read(ctx, r.Ticket)
	if err != nil {
		return store.Ticket{}, err
	}
	in, again, err := c.retryIntent(r, s.Hash)
	if err != nil {
		return store.Ticket{}, err
	}
	if err := c.stage(ctx, in); err != nil {
		return store.Ticket{}, err
	}
	asked := c.config.Now()
	w, err := c.store.Retry(ctx, r.Ticket, store.Writer{Agent: r.By}, store.Retrial{
		Intent: in.ID, Before: in.After, Daemon: c.box.ID(), Again: again, Once: onceOnly(in), Reason: r.Reason,
	}, r.told(audit.Retried))
	switch {
	case err != nil:
		return store.Ticket{}, err // it may land yet: stagedLoop asks
	case w.Code == store.OK:
		if err := c.box.Commit(in.Ref); err != nil {
			return store.Ticket{}, fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
		}
		c.current.confirm(in.ID, asked)
	default:
		c.drop(in.Ref)
		if w.Code == store.Conflict {
			return store.Ticket{}, errRaced
		}
	}
	return c.decided(ctx, r, w, settleable, asked)
}

// onceOnly names an intent's channels that are at_most_once.
func onceOnly(in outbox.Intent) (names []string) {
	for name, d := range in.Channels {
		if d.AtMostOnce {
			names = append(names, name)
		}
	}
	return names
}

// retryIntent is the new intent, with every channel that is then unsettled or still parked, and the names of those that are tried again.
func (c *Courier) retryIntent(r Resolution, h store.Hash) (in outbox.Intent, again []string, err error) {
	switch {
	case len(h) == 0:
		return in, nil, fmt.Errorf("%w: there is no notification to try again", store.ErrTicketNotFound)
	case h.State() != store.Notifying && h.State() != store.Failed:
		return in, nil, &store.TransitionError{State: h.State(), Wants: decidable}
	}
	in = outbox.Intent{
		Ref: outbox.Ref{Ticket: r.Ticket.String(), ID: rand.Text()}, Asset: string(r.Ticket.Asset), Task: r.Ticket.Task, Run: h.Run(),
		Key: r.Ticket.Key(h.Run()), Origin: outbox.Staged, At: time.Now().Truncate(time.Millisecond).UTC(), Boot: c.config.Boot, Clock: c.config.Now(),
		Severity: h.Severity(), Content: []byte(h.Content()), Agent: r.By, After: h.Intent(), Channels: map[string]outbox.Delivery{},
	}
	for _, name := range h.Channels() {
		status, retried := h.Status(name), r.about(name, h.Status(name), settleable)
		if status == outbox.Parked && !retried { // its content goes over to this intent
			in.Channels[name] = outbox.Delivery{Type: h.Type(name), AtMostOnce: true, Body: h.Body(name), Status: status, Recorded: true, Error: h["error."+name]}
			continue
		}
		if status.Settled() && !retried {
			continue
		}
		by := h.Retried(name)
		if retried {
			again, by = append(again, name), in.ID
		}
		ch := c.channel(name, h.Type(name))
		if ch == nil {
			return in, nil, &ChannelError{fmt.Sprintf("this host has no channel %s of type %s; retry on one that has", name, h.Type(name))}
		}
		in.Channels[name] = outbox.Delivery{
			Type: ch.Type, AtMostOnce: h.Once(name, ch.AtMostOnce), Body: h.Body(name), Status: outbox.Pending, Due: in.At, Retried: by,
		}
	}
	if len(again) == 0 {
		return in, nil, undecided(r.Channel, settleable)
	}
	return in, again, nil
}
