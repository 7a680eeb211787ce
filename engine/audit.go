// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

// audit hands a record over. One that is of a call gets its caller, and is the call's only one.
func (e *Engine) audit(ctx context.Context, a audit.Event) {
	audit.CallerOf(ctx).Sign(&a)
	e.Audit(a)
}

// event is one of a kind about the claim.
func (c *claim) event(kind audit.Kind) audit.Event {
	return audit.Event{Kind: kind, Asset: string(c.ticket.Asset), Task: c.ticket.Task, Token: c.token, Agent: c.agent}
}

// teller makes of a script's reply what is recorded; a kind that is empty is not.
type teller func(r reply, a *audit.Event)

// commit runs a script that writes, and has recorded what it did: once, however often it was sent. what is what is known before.
// Errors as run.
func (e *Engine) commit(ctx context.Context, s script, id TicketID, what audit.Event, args []any) (reply, error) {
	r, err := e.run(ctx, s, e.keys.all(id), args...)
	what.Asset, what.Task = string(id.Asset), id.Task
	if err != nil {
		var store *StoreError
		if audit.CallerOf(ctx) != nil && !(errors.As(err, &store) && store.full) {
			what.Kind, what.Reason = audit.Unconfirmed, err.Error()
			e.audit(ctx, what)
		}
		return r, err
	}
	e.writes.note(e.keys.ticket(id), number(r.member(0, "revision")))
	if s.tell(r, &what); what.Kind != "" {
		e.audit(ctx, what)
	}
	return r, nil
}

// tellTicket is for a reply {code, ticket, from}. What a write that was refused left unchanged is for the API to tell.
func tellTicket(r reply, a *audit.Event) {
	a.From, a.To = r.text(1), r.member(0, "state")
	switch {
	case r.code == codeReplayed && a.From == "": // else it was this very call, whose first answer was lost
		a.Kind, a.From = audit.Replayed, a.To
	case r.code == codeReplayed || r.code == codeOK:
		if a.Token == 0 {
			a.Token = number(r.member(0, "token"))
		}
		if a.Kind == audit.Finished && a.To == string(Notifying) {
			a.Kind = audit.Released
		}
	default:
		a.Kind = ""
	}
}

func tellMint(r reply, a *audit.Event) {
	tellTicket(r, a)
	a.Token = r.number(2)
}

// tellRelease: the end of a claim is told when it comes, so that here it is told only if an agent asked for it, or if it moved
// the ticket.
func tellRelease(r reply, a *audit.Event) {
	a.From, a.To = r.text(0), r.text(1)
	if a.Kind == "" && a.From != a.To && a.To == string(Finished) {
		a.Kind = audit.Finished
	}
}

func tellBreak(r reply, a *audit.Event) {
	a.Task, a.From, a.To = r.text(1), r.text(2), r.text(3)
}

func tellIdle(r reply, a *audit.Event) {
	a.From, a.To = string(Notified), string(Finished)
	if r.text(0) != "1" {
		a.Kind = ""
	}
}

func tellOwn(r reply, a *audit.Event) {
	a.From, a.To = string(Notifying), string(Notifying)
	if r.code != codeOK {
		a.Kind = ""
	}
}

func tellAttempt(r reply, a *audit.Event) {
	a.From, a.To = string(Notifying), string(Notifying)
	switch r.code {
	case codeGo:
	case codeDone:
		if a.To = r.text(1); a.To == "" {
			a.Kind = ""
			return
		}
		a.Kind, a.Reason = audit.Receipt, "it has a receipt"
	case codePark:
		a.Kind, a.To, a.Reason = audit.Parked, r.text(0), "what became of the last attempt is not known"
	default:
		a.Kind = ""
	}
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

// tellBefore records what a mint did to the claim before it: one that ended by expiry, where no script runs by itself. It is no
// record of the call that minted.
func (e *Engine) tellBefore(c *claim, r reply) {
	asset, task := string(c.ticket.Asset), r.text(3)
	if token := r.text(4); token != "" {
		e.Audit(audit.Event{
			Kind: audit.Lost, Asset: asset, Task: task, Token: number(token), Host: r.text(5), Agent: r.text(6),
			Reason: string(ReasonExpired) + ": found by the next claim",
		})
	}
	if r.text(7) == "1" {
		e.Audit(audit.Event{
			Kind: audit.Finished, Asset: asset, Task: task, Token: c.token, From: string(Notified), To: string(Finished),
			Reason: "no claim was left to finish it",
		})
	}
}
