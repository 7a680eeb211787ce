// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

// Resolution is what an administrator says about a notification: which ticket, which channel (empty: all in question), who (pid/uid)
// and why.
type Resolution struct {
	Ticket  TicketID
	Channel string
	By      string
	Reason  string
}

// What each call is about.
const (
	discardable = ",pending,sending,unknown,parked,dead,"
	settleable  = ",unknown,parked,dead,"
)

// Discard gives up channels of a ticket in NOTIFYING: they are not tried any more, on any host. A channel that is dead is given up in
// FAILED too: if all others have their receipts, and there is one, the ticket is NOTIFIED after all. Errors: ErrTicketNotFound,
// ErrUnknownChannel, *TransitionError, ErrStoreUnavailable.
func (e *Engine) Discard(ctx context.Context, r Resolution) (Ticket, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	t, err := e.resolve(ctx, r, outbox.Discarded, discardable, audit.Discarded)
	return e.decideLost(ctx, r, outbox.Discarded, audit.Discarded, t, err)
}

// Settle records that a notification did arrive on channels whose outcome is unknown, or that are dead, in FAILED too. Errors as
// Discard.
func (e *Engine) Settle(ctx context.Context, r Resolution) (Ticket, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	t, err := e.resolve(ctx, r, outbox.Sent, settleable, audit.Settled)
	return e.decideLost(ctx, r, outbox.Sent, audit.Settled, t, err)
}

func (e *Engine) resolve(ctx context.Context, r Resolution, as outbox.Status, question string, kind audit.Kind) (Ticket, error) {
	for {
		s, err := e.read(ctx, r.Ticket)
		if err != nil {
			return Ticket{}, err
		}
		about := "," // the channels that it is about, so that a copy which comes late is not about others
		for _, name := range strings.Fields(s.fields["channels"]) {
			if (r.Channel == "" || r.Channel == name) && strings.Contains(question, ","+s.fields["delivery."+name]+",") {
				about += name + ","
			}
		}
		reply, err := e.commit(ctx, resolveScript, r.Ticket, r.told(kind), e.args(r.Ticket, 0, "", r.By, "", rand.Text(), string(as),
			r.Reason, about, question, s.fields["intent"]))
		if err != nil {
			return Ticket{}, err
		}
		if reply.code != codeMismatch {
			return e.resolved(ctx, r, reply, question)
		}
	}
}

func (r Resolution) told(kind audit.Kind) audit.Event {
	return audit.Event{Kind: kind, Channel: r.Channel, Agent: r.By, Reason: r.Reason}
}

func (e *Engine) resolved(ctx context.Context, r Resolution, reply reply, question string) (Ticket, error) {
	s := snapshot{fields: reply.pairs(0)}
	switch reply.code {
	case codeGone:
		return Ticket{}, fmt.Errorf("%w: there is no notification to decide about", ErrTicketNotFound)
	case codeIllegal:
		return Ticket{}, &TransitionError{State: State(s.fields["state"]), Wants: decidable}
	case codeConflict:
		return Ticket{}, undecided(r.Channel, question)
	}
	e.index.touch(r.Ticket)
	e.heedNow(ctx, r.Ticket, s.fields)
	return s.ticket(r.Ticket)
}

// decidable is the state of a ticket about whose notification an administrator can decide.
const decidable = "NOTIFYING, or FAILED with a channel in question"

// errRaced: another write came between reading the ticket and writing it.
var errRaced = errors.New("the ticket has moved on")

// Retry sends once more on channels that are dead, parked or unknown, of a ticket in NOTIFYING or FAILED, from this host, which must
// have every channel that is not settled. The key and the bytes stay. It goes through the stages of outbox/doc.go with a new intent.
// Errors: as Discard, and ErrOutboxUnavailable.
func (e *Engine) Retry(ctx context.Context, r Resolution) (Ticket, error) {
	if err := e.Identity(); err != nil {
		return Ticket{}, err
	}
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	leave, err := e.calls.enter(ctx, r.Ticket.String())
	if err != nil {
		return Ticket{}, err
	}
	defer leave()
	for {
		t, err := e.retry(ctx, r)
		if !errors.Is(err, errRaced) {
			return e.decideLost(ctx, r, outbox.Pending, audit.Retried, t, err)
		}
	}
}

func (e *Engine) retry(ctx context.Context, r Resolution) (Ticket, error) {
	s, err := e.read(ctx, r.Ticket)
	if err != nil {
		return Ticket{}, err
	}
	in, again, err := e.retryIntent(r, &s)
	if err != nil {
		return Ticket{}, err
	}
	if err := e.box.Stage(in); err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrOutboxUnavailable, err)
	}
	if err := e.hint(ctx, in.Ticket); err != nil {
		e.discard(in.Ref)
		return Ticket{}, err
	}
	asked := e.now()
	reply, err := e.commit(ctx, retryScript, r.Ticket, r.told(audit.Retried), e.args(r.Ticket, 0, "", r.By, "", in.ID, e.box.ID(),
		s.fields["intent"], r.Reason, ","+strings.Join(again, ",")+",", onceOnly(in)))
	if err != nil {
		return Ticket{}, err // it may land yet: the settle loop asks
	}
	if reply.code != codeOK {
		e.discard(in.Ref)
		if reply.code == codeConflict {
			return Ticket{}, errRaced
		}
		return e.resolved(ctx, r, reply, settleable)
	}
	if err := e.box.Commit(in.Ref); err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrOutboxUnavailable, err)
	}
	e.current.confirm(in.ID, asked)
	return e.resolved(ctx, r, reply, settleable)
}

// onceOnly names an intent's channels that are at_most_once, as a set for a script.
func onceOnly(in outbox.Intent) string {
	names := ","
	for name, d := range in.Channels {
		if d.AtMostOnce {
			names += name + ","
		}
	}
	return names
}

// retryIntent is the new intent, with every channel that is then unsettled, and the names of those that are tried again.
func (e *Engine) retryIntent(r Resolution, s *snapshot) (in outbox.Intent, again []string, err error) {
	f := s.fields
	state := State(f["state"])
	switch {
	case len(f) == 0:
		return in, nil, fmt.Errorf("%w: there is no notification to try again", ErrTicketNotFound)
	case state != Notifying && state != Failed:
		return in, nil, &TransitionError{State: state, Wants: decidable}
	}
	run := max(number(f["run"]), 1)
	in = outbox.Intent{
		Ref: outbox.Ref{Ticket: r.Ticket.String(), ID: rand.Text()}, Asset: string(r.Ticket.Asset), Task: r.Ticket.Task, Run: run,
		Key: r.Ticket.Key(run), Origin: outbox.Staged, At: time.Now().Truncate(time.Millisecond).UTC(), Boot: e.boot, Clock: e.now(),
		Severity: severityOf(f["notification"]), Content: []byte(f["notification"]), Agent: r.By, After: f["intent"], Channels: map[string]outbox.Delivery{},
	}
	for _, name := range strings.Fields(f["channels"]) {
		status := outbox.Status(f["delivery."+name])
		retried := (r.Channel == "" || r.Channel == name) && slices.Contains([]outbox.Status{outbox.Dead, outbox.Parked, outbox.Unknown}, status)
		if status.Settled() && !retried {
			continue
		}
		if retried {
			again = append(again, name)
		}
		ch := e.channel(name, f["type."+name])
		if ch == nil {
			return in, nil, &ChannelError{fmt.Sprintf("this host has no channel %s of type %s; retry on one that has", name, f["type."+name])}
		}
		in.Channels[name] = outbox.Delivery{
			Type: ch.Type, AtMostOnce: s.once(*ch), Body: []byte(f["body."+name]), Status: outbox.Pending, Due: in.At,
		}
	}
	if len(again) == 0 {
		return in, nil, undecided(r.Channel, settleable)
	}
	return in, again, nil
}
