// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

// awayAfter is how long the ticket's node must have answered nothing, while this process ran, until Redis counts as away. It is
// counted in ticks: of those that a process missed while it stood still, it sees one.
const (
	awayAfter = 5 * time.Second
	awakeTick = 250 * time.Millisecond
)

// errSilent ends a question to which no answer came within awayAfter.
var errSilent = errors.New("no answer for 5 s")

// deliverer is the agent in the history of what the notifier does.
const deliverer = "notifier"

// Attempt decides whether the notifier may send now (see outbox.Verdict). It asks for 5 s in which this process runs. Then it says
// outbox.ErrAway if nobody can have taken the intent over and its ticket named it just before, else an ErrStoreUnavailable. Whether the own outbox has a receipt, the
// notifier has looked before: that holds without Redis too.
func (e *Engine) Attempt(ctx context.Context, a outbox.Attempt) (outbox.Answer, error) {
	if err := e.Identity(); err != nil {
		return outbox.Answer{}, err
	}
	id := TicketID{Asset(a.Asset), a.Task}
	asked := e.now()
	r, err := reply{codeMoved, []any{int64(a.Number - 1)}}, error(nil) // if nobody else has tried
	for err == nil && r.code == codeMoved {
		r, err = e.deliver(ctx, attemptScript, id, audit.Event{Kind: audit.Attempt, Channel: a.Channel}, a.ID, a.Channel, a.Number, a.Run,
			e.runID, a.Lease.Milliseconds(), flag(a.AtMostOnce), r.number(0))
	}
	switch {
	case errors.Is(err, outbox.ErrAway) && !e.unbroken(e.staged(a)):
		return outbox.Answer{}, &StoreError{Why: "no answer, and another daemon may have taken over before", silent: true}
	case errors.Is(err, outbox.ErrAway) && !e.fresh(a, asked):
		return outbox.Answer{}, &StoreError{Why: "no answer, and an administrator may have decided otherwise since the ticket last did", silent: true}
	case err != nil:
		return outbox.Answer{}, err
	}
	switch r.code {
	case codeGo:
		return outbox.Answer{Verdict: outbox.Go}, nil
	case codeBusy:
		return outbox.Answer{Verdict: outbox.Busy, Wait: time.Duration(r.number(0)) * time.Millisecond}, nil
	case codeDone:
		return outbox.Answer{Verdict: outbox.Done, Status: outbox.Status(r.text(0))}, nil
	case codeSuperseded:
		return outbox.Answer{Verdict: outbox.Superseded}, nil
	case codeLost:
		return outbox.Answer{Verdict: outbox.Lost, Sole: e.unbroken(e.staged(a)) && !e.current.doubted(a.ID)}, nil
	case codePark:
		return outbox.Answer{Verdict: outbox.Park}, nil
	}
	return outbox.Answer{}, fmt.Errorf("cannot tell what Redis answered: code %d", r.code)
}

// Outcome records what became of an attempt on the ticket. closed: the ticket needs nothing more from this intent. Errors:
// outbox.ErrAway, ErrStoreUnavailable.
func (e *Engine) Outcome(ctx context.Context, o outbox.Outcome) (closed bool, err error) {
	id := TicketID{Asset(o.Asset), o.Task}
	told := audit.Event{Kind: outcomeKind(o.Status), Channel: o.Channel, Reason: o.Error}
	r, err := e.deliver(ctx, outcomeScript, id, told, o.ID, o.Channel, o.Number, o.Run, string(o.Status), o.At.UnixMilli(), o.Error,
		DefaultFlow, o.Asset, e.runID)
	if err != nil {
		return false, err
	}
	e.index.touch(id)
	return r.text(0) == "1", nil
}

// deliver runs a script of lua/delivery.lua.
func (e *Engine) deliver(ctx context.Context, s script, id TicketID, told audit.Event, intent, channel string, attempt int, run int64, more ...any) (reply, error) {
	ctx, cancel := awake(ctx)
	defer cancel()
	args := append([]any{intent, channel, e.box.ID(), attempt, run}, more...)
	r, err := e.commit(ctx, s, id, told, e.args(id, 0, "", deliverer, "", args...))
	if errors.Is(err, errNoAnswer) && errors.Is(context.Cause(ctx), errSilent) {
		return reply{}, fmt.Errorf("%w: %w", outbox.ErrAway, err)
	}
	return r, err
}

// awake is a context that ends with errSilent when this process has run for awayAfter. A deadline would be over for a process that
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
	tick(awayAfter)
	return ctx, func() { cancel(nil) }
}
