// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

var (
	attemptScript = newScript("attempt", "common", "end_notifying", "channel")
	outcomeScript = newScript("outcome", "common", "end_notifying", "channel")
)

// deliverer is the agent in the history of what the notifier does.
const deliverer = "notifier"

// Attempt asks whether a daemon may send now. Errors: also outbox.ErrAway, when nothing answered for AwayAfter.
func (s *Store) Attempt(ctx context.Context, a outbox.Attempt, d Daemon) (outbox.Answer, error) {
	told := audit.Event{Kind: audit.Attempt, Channel: a.Channel}
	had := int64(a.Number - 1) // if nobody else has tried
	sc := attemptScript
	sc.kept = a.AtMostOnce // the next host must not find it pending after a failover
	for {
		r, err := s.writeChannel(ctx, sc, TicketID{Asset(a.Asset), a.Task}, told, tellAttempt, a.ID, a.Channel, d.ID, a.Number, a.Run,
			d.Run, a.Lease.Milliseconds(), flag(a.AtMostOnce), had)
		if err != nil {
			return outbox.Answer{}, err
		}
		switch r.code {
		case moved:
			had = r.number(0)
			continue
		case proceed:
			return outbox.Answer{Verdict: outbox.Go}, nil
		case busy:
			return outbox.Answer{Verdict: outbox.Busy, Wait: time.Duration(r.number(0)) * time.Millisecond}, nil
		case done:
			return outbox.Answer{Verdict: outbox.Done, Status: outbox.Status(r.text(0))}, nil
		case superseded:
			return outbox.Answer{Verdict: outbox.Superseded}, nil
		case lost:
			return outbox.Answer{Verdict: outbox.Lost}, nil
		case park:
			return outbox.Answer{Verdict: outbox.Park}, nil
		}
		return outbox.Answer{}, fmt.Errorf("cannot tell what Redis answered: code %d", r.code)
	}
}

func tellAttempt(r reply, a *audit.Event) {
	a.From, a.To = string(Notifying), string(Notifying)
	switch r.code {
	case proceed:
	case done:
		if a.To = r.text(1); a.To == "" {
			a.Kind = ""
			return
		}
		a.Kind, a.Reason = audit.Receipt, "it has a receipt"
	case park:
		a.Kind, a.To, a.Reason = audit.Parked, r.text(0), "what became of the last attempt is not known"
	default:
		a.Kind = ""
	}
}

// Outcome records what became of an attempt. closed: the ticket needs nothing more from this intent. Errors: as Attempt.
func (s *Store) Outcome(ctx context.Context, o outbox.Outcome, d Daemon) (closed bool, err error) {
	id := TicketID{Asset(o.Asset), o.Task}
	told := audit.Event{Kind: outcomeKind(o.Status), Channel: o.Channel, Reason: o.Error}
	r, err := s.writeChannel(ctx, outcomeScript, id, told, tellOutcome, o.ID, o.Channel, d.ID, o.Number, o.Run,
		string(o.Status), o.At.UnixMilli(), o.Error, flowOf(id.Asset).Name, string(flowOf(id.Asset).Initial), d.Run)
	return r.text(0) == "1", err
}

func tellOutcome(r reply, a *audit.Event) {
	a.From, a.To = r.text(2), r.text(3)
	switch r.text(1) {
	case "replayed":
		a.Kind, a.Call = audit.Replayed, "outcome"
	case "superseded":
		a.Kind, a.Call, a.Code = audit.Refused, "outcome", "SUPERSEDED"
	}
}

// outcomeKind is what a channel's status is called in the audit.
func outcomeKind(s outbox.Status) audit.Kind {
	switch s {
	case outbox.Sent:
		return audit.Receipt
	case outbox.Dead:
		return audit.Dead
	case outbox.Parked:
		return audit.Parked
	}
	return audit.Undelivered
}

// writeChannel runs a script about a channel.
func (s *Store) writeChannel(ctx context.Context, sc script, id TicketID, told audit.Event, tell teller, more ...any) (reply, error) {
	ctx, cancel := awake(ctx)
	defer cancel()
	r, err := s.write(ctx, sc, id, Writer{Agent: deliverer}, "", told, tell, more...)
	if errors.Is(err, ErrNoAnswer) && errors.Is(context.Cause(ctx), errSilent) {
		return reply{}, fmt.Errorf("%w: %w", outbox.ErrAway, err)
	}
	return r, err
}

// AwayAfter is how long the ticket's node must have answered nothing, while this process ran, until Redis counts as away. It is
// counted in ticks: of those that a process missed while it stood still, it sees one.
const (
	AwayAfter = 5 * time.Second
	awakeTick = 250 * time.Millisecond
)

// errSilent ends a question to which no answer came within AwayAfter.
var errSilent = errors.New("no answer for 5 s")

// awake is a context that ends with errSilent when this process has run for AwayAfter. A deadline would be over for a process that
// wakes, with the answer unread.
func awake(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var tick func(left time.Duration)
	tick = func(left time.Duration) {
		if left <= 0 {
			cancel(errSilent)
		} else if ctx.Err() == nil {
			time.AfterFunc(awakeTick, func() { tick(left - awakeTick) })
		}
	}
	tick(AwayAfter)
	return ctx, func() { cancel(nil) }
}
