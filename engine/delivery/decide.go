// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Discard gives up channels of a ticket in NOTIFYING: they are not tried any more, on any host. A channel that is dead is given up in
// FAILED too: if all others have their receipts, and there is one, the ticket is NOTIFIED after all. Errors: store.ErrTicketNotFound,
// ErrUnknownChannel, *store.TransitionError, store.ErrUnavailable.
func (c *Courier) Discard(ctx context.Context, r Resolution) (store.Ticket, error) {
	ctx, cancel := c.config.Bounded(ctx)
	defer cancel()
	t, err := c.decide(ctx, r, outbox.Discarded, discardable, audit.Discarded)
	return c.decideLost(ctx, r, outbox.Discarded, discardable, audit.Discarded, t, err)
}

// Settle records that a notification did arrive on channels whose outcome is unknown, or that are dead, in FAILED too. Errors as
// Discard.
func (c *Courier) Settle(ctx context.Context, r Resolution) (store.Ticket, error) {
	ctx, cancel := c.config.Bounded(ctx)
	defer cancel()
	t, err := c.decide(ctx, r, outbox.Sent, settleable, audit.Settled)
	return c.decideLost(ctx, r, outbox.Sent, settleable, audit.Settled, t, err)
}

func (c *Courier) decide(ctx context.Context, r Resolution, as outbox.Status, question []outbox.Status, kind audit.Kind) (store.Ticket, error) {
	for {
		s, err := c.read(ctx, r.Ticket)
		if err != nil {
			return store.Ticket{}, err
		}
		var about []string // so that a copy which comes late is not about others
		for _, name := range s.Channels() {
			if r.about(name, s.Status(name), question) {
				about = append(about, name)
			}
		}
		asked := c.config.Now()
		w, err := c.store.Resolve(ctx, r.Ticket, store.Writer{Agent: r.By}, store.Resolution{
			Request: rand.Text(), Status: as, Channels: about, Question: question, Intent: s.Intent(), Reason: r.Reason,
		}, r.told(kind))
		if err != nil {
			return store.Ticket{}, err
		}
		if w.Code != store.Mismatch {
			return c.decided(ctx, r, w, question, asked)
		}
	}
}

// decided is the answer to what a script decided, which was asked at that time.
func (c *Courier) decided(ctx context.Context, r Resolution, w store.Written, question []outbox.Status, asked time.Duration) (store.Ticket, error) {
	switch w.Code {
	case store.Gone:
		return store.Ticket{}, fmt.Errorf("%w: there is no notification to decide about", store.ErrTicketNotFound)
	case store.Illegal:
		return store.Ticket{}, &store.TransitionError{State: w.State(), Wants: decidable}
	case store.Conflict:
		return store.Ticket{}, undecided(r.Channel, question)
	}
	c.HeedNow(ctx, r.Ticket, w.Hash, asked)
	t, err := c.store.Complete(ctx, r.Ticket, w.Hash, nil)
	if errors.Is(err, store.ErrTicketDamaged) {
		err = nil // it is decided, and shown as it is
	}
	return t, err
}

// undecided is a ChannelError for a channel as it was named, any when it is empty, none of which is in one of the statuses.
func undecided(channel string, statuses []outbox.Status) error {
	which := "none of the ticket's channels is "
	if channel != "" {
		which = "the ticket has no such channel that is "
	}
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = string(s)
	}
	return &ChannelError{which + strings.Join(words, ", ") + "; its delivery says what they are"}
}

// Resolution is what an administrator says about a notification: which ticket, which channel (empty: all in question), who (pid/uid)
// and why.
type Resolution struct {
	Ticket  store.TicketID
	Channel string
	By      string
	Reason  string
}

// about reports whether it is about a channel in this status.
func (r Resolution) about(channel string, status outbox.Status, question []outbox.Status) bool {
	return (r.Channel == "" || r.Channel == channel) && slices.Contains(question, status)
}

func (r Resolution) told(kind audit.Kind) audit.Event {
	return audit.Event{Kind: kind, Channel: r.Channel, Agent: r.By, Reason: r.Reason}
}

// The statuses in question when somebody discards, and when somebody settles or retries.
var (
	discardable = []outbox.Status{outbox.Pending, outbox.Sending, outbox.Unknown, outbox.Parked, outbox.Dead}
	settleable  = []outbox.Status{outbox.Unknown, outbox.Parked, outbox.Dead}
)

// decidable is the state of a ticket about whose notification an administrator can decide.
const decidable = "NOTIFYING, or FAILED with a channel in question"
