// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// What an administrator decides on another host, and a retry there, becomes a fact in this outbox by asking the tickets of what it has
// to send: every heedEvery those that are due within heedAhead, and as many of the others, in turn. Without Redis only that is sent
// whose ticket named it as this daemon's at most currentFor before.
const (
	heedEvery = 2 * time.Second
	heedAhead = 15 * time.Second
	heedMost  = 500 // of each kind: with more than that to send, a decision takes as many more rounds to come here
	heedPage  = 100 // tickets in one question
)

func (c *Courier) heedLoop(ctx context.Context) {
	ticker := time.NewTicker(heedEvery)
	defer ticker.Stop()
	said := again.Reminder{Every: time.Hour}
	for next := []byte(nil); ; {
		var err error
		if next, err = c.Heed(ctx, next); ctx.Err() == nil {
			c.warn(&said, "cannot ask all tickets what was decided about them", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Heed is one round, from a place among what can be sent on. A ticket that answers nothing stops none of the others, as in eachHint: all
// questions are asked at once. It is asked again when its turn comes, and what the last answer told of it stands until then.
func (c *Courier) Heed(ctx context.Context, from []byte) (next []byte, err error) {
	began := c.config.Now()
	defer func() {
		if err == nil {
			c.current.hear(began)
		}
	}()
	all, err := c.box.Soon(time.Now().Add(heedAhead), heedMost)
	if err != nil {
		return from, err
	}
	others, next, err := c.box.Sendable(from, heedMost)
	if err != nil {
		return from, err
	}
	for _, in := range others {
		if !slices.ContainsFunc(all, func(soon outbox.Intent) bool { return soon.ID == in.ID }) {
			all = append(all, in)
		}
	}
	var failed troubles
	var wait sync.WaitGroup
	for page := range slices.Chunk(all, heedPage) {
		wait.Go(func() { c.heedThese(ctx, page, &failed) })
	}
	wait.Wait()
	c.current.forget(c.config.Now() - currentFor - 2*store.AwayAfter)
	return next, failed.err()
}

func (c *Courier) heedThese(ctx context.Context, page []outbox.Intent, failed *troubles) {
	asked := c.config.Now()
	questions := make([]store.Asked, len(page))
	for i, in := range page {
		questions[i] = asking(in)
	}
	hashes, errs := c.store.Glance(ctx, questions...)
	for i, in := range page {
		err := errs[i]
		if err == nil {
			err = c.heed(ctx, in, hashes[i], asked)
		} else {
			c.current.doubt(in.ID, false, false, asked)
		}
		if err != nil {
			failed.add(in.Ticket, err)
		}
	}
}

// heed takes over from a ticket, asked at that time, what was decided about an intent that is open. A ticket that is gone, or does
// not know the intent, has lost data and says nothing, and what is parked here waits here alone; if it has another, which this daemon
// answers for, that is taken into the outbox, because this one waits for it.
func (c *Courier) heed(ctx context.Context, in outbox.Intent, f store.Hash, asked time.Duration) error {
	decided := map[string]outbox.Status{}
	reopened := f.Run() > in.Run
	named, begun := f.Intent() == in.ID, false
	for channel, d := range in.Channels {
		is := f.Status(channel)
		begun = begun || d.AtMostOnce && d.Status == outbox.Pending && is != outbox.Pending && is != outbox.Dead && is != outbox.Discarded
	}
	c.current.doubt(in.ID, named, begun, asked)
	switch {
	case f.State() == "":
		return c.keep(ctx, in, f)
	case !named && !reopened && !f.Knows(in.ID):
		if err := c.keep(ctx, in, f); err != nil {
			return err
		}
		return c.beside(ctx, in, f)
	case !named && !reopened: // retried elsewhere
		return c.box.Shut(in.Ref)
	case store.State(f["state"]) == store.Notifying && f["owner"] == c.box.ID() && in.Origin == outbox.Committed && !reopened:
		c.current.confirm(in.ID, asked)
	}
	for channel, d := range in.Channels {
		switch status := f.Status(channel); {
		case d.Status.Settled() && !d.Waits():
		case reopened:
			decided[channel] = outbox.Discarded
		case status == outbox.Sent, status == outbox.Dead, status == outbox.Discarded: // parked waits for a person
			decided[channel] = status
		}
	}
	if len(decided) == 0 {
		return nil
	}
	return c.box.Decide(in.Ref, decided)
}

// keep has what is parked wait in this outbox alone, as the ticket lost it. What people were told since, under whatever intent of the
// run, waits no more.
func (c *Courier) keep(ctx context.Context, in outbox.Intent, f store.Hash) error {
	told := map[string]outbox.Status{}
	for channel, d := range in.Channels {
		switch {
		case !d.Waits():
		case f.Run() == in.Run && f.Status(channel) == outbox.Sent:
			told[channel] = outbox.Sent
		case !d.Lost:
			o := outbox.Outcome{Ref: in.Ref, Channel: channel, At: d.At, Error: "Redis lost the ticket on which it was parked: retry, discard or settle it on this host"}
			if err := c.box.Keep(o); err != nil {
				return err
			}
			c.log.Error("a notification waits for a person in the outbox of this host alone", "ticket", in.Ticket, "channel", channel, "reason", o.Error)
			c.store.Tell(ctx, audit.Event{Kind: audit.Parked, Asset: in.Asset, Task: in.Task, Channel: channel, Reason: o.Error})
		}
	}
	if len(told) == 0 {
		return nil
	}
	return c.box.Decide(in.Ref, told)
}

// beside takes what a ticket tells instead of an intent that it lost into the outbox, if it is for this daemon to deliver.
func (c *Courier) beside(ctx context.Context, in outbox.Intent, f store.Hash) error {
	if f.State() != store.Notifying || f.Owner() != c.box.ID() {
		return nil
	}
	other, err := c.box.Get(outbox.Ref{Ticket: in.Ticket, ID: f.Intent()})
	if err == nil && other.Origin != outbox.Closed {
		return nil
	}
	id := ticketOf(in)
	s, err := c.read(ctx, id)
	if err != nil || s.State() != store.Notifying || s.Owner() != c.box.ID() {
		return err
	}
	_, err = c.answerFor(ctx, id, s.Hash)
	return err
}

// heedTicket is a round for one ticket.
func (c *Courier) heedTicket(ctx context.Context, id store.TicketID) error {
	intents, err := c.box.Ticket(id.String())
	if err != nil {
		return fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	open := slices.DeleteFunc(intents, func(in outbox.Intent) bool { return in.Origin != outbox.Committed && in.Origin != outbox.Adopted })
	if len(open) == 0 {
		return nil
	}
	var failed troubles
	c.heedThese(ctx, open, &failed)
	return failed.err()
}

// HeedNow is for a decision that was made here, by a question from that time: it is a fact in this outbox when the call returns, unless
// that cannot be written; then the next round finds it.
func (c *Courier) HeedNow(ctx context.Context, id store.TicketID, f store.Hash, asked time.Duration) {
	intents, err := c.box.Ticket(id.String())
	for _, in := range intents {
		if err == nil && (in.Origin == outbox.Committed || in.Origin == outbox.Adopted) {
			err = c.heed(ctx, in, f, asked)
		}
	}
	if err != nil {
		c.log.Warn("cannot write a decision to the outbox; it is taken from the ticket later", "ticket", id.String(), "error", err)
	}
}

// quiet remembers how hinted tickets stood when there was last nothing to do about them: those that wait for a person, for days
// maybe. As long as one stands so, it is not read whole again.
type quiet struct {
	mu sync.Mutex
	by map[store.TicketID]string
}

func (q *quiet) is(id store.TicketID, as string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, ok := q.by[id]
	return ok && was == as
}

// note remembers it; empty: there is something to do.
func (q *quiet) note(id store.TicketID, as string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if as == "" {
		delete(q.by, id)
		return
	}
	if q.by == nil {
		q.by = map[store.TicketID]string{}
	}
	q.by[id] = as
}
