// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/picketd/picket/outbox"
)

// AuditKind is what an audit record tells.
type AuditKind string

// The kinds that engine and sockapi tell. What each means to an operator stands in packaging/picket.catalog.
const (
	AuditClaimed     AuditKind = "claimed"
	AuditStep        AuditKind = "step"
	AuditFailure     AuditKind = "failure"
	AuditFailed      AuditKind = "failed"
	AuditNotifying   AuditKind = "notifying"
	AuditFinished    AuditKind = "finished"
	AuditReleased    AuditKind = "released"
	AuditReplayed    AuditKind = "replayed"    // a write that was recorded before
	AuditRefused     AuditKind = "refused"     // a write that changed nothing
	AuditUnconfirmed AuditKind = "unconfirmed" // a write that Redis did not answer: it may have landed, or land yet
	AuditLost        AuditKind = "lost"

	AuditAttempt     AuditKind = "attempt"
	AuditReceipt     AuditKind = "receipt"
	AuditUndelivered AuditKind = "undelivered" // an attempt that failed or of which nothing is known; the channel is not settled
	AuditParked      AuditKind = "parked"
	AuditDead        AuditKind = "dead"
	AuditInherited   AuditKind = "inherited" // this daemon delivers for one that is gone

	AuditBroken    AuditKind = "broken"
	AuditForced    AuditKind = "forced"
	AuditReopened  AuditKind = "reopened"
	AuditRetried   AuditKind = "retried"
	AuditDiscarded AuditKind = "discarded"
	AuditSettled   AuditKind = "settled"
	AuditTested    AuditKind = "tested" // an administrator sent a test message
)

// AuditKinds are all of them.
var AuditKinds = []AuditKind{
	AuditClaimed, AuditStep, AuditFailure, AuditFailed, AuditNotifying, AuditFinished, AuditReleased, AuditReplayed, AuditRefused,
	AuditUnconfirmed, AuditLost, AuditAttempt, AuditReceipt, AuditUndelivered, AuditParked, AuditDead, AuditInherited, AuditBroken,
	AuditForced, AuditReopened, AuditRetried, AuditDiscarded, AuditSettled, AuditTested,
}

// AuditEvent is one record for the audit. It never holds facts, texts, summaries or an agent's error: those are the ticket's.
type AuditEvent struct {
	Kind    AuditKind
	Ticket  TicketID // without a task for a call that is about an asset
	Token   int64    // of the claim; 0: none
	From    State    // of the ticket; empty where it is not known
	To      State    // what it became, or for a refused write should have become
	Step    string
	Channel string
	Call    string // the API's name for the call, empty for what no call did
	Code    string // of a refusal
	Host    string // a label; empty: this one
	Agent   string // pid/uid of who made the call, or of the claim that was lost
	Reason  string
}

// Caller is who makes a call, as the audit tells it. It sees to it that a call leaves one record.
type Caller struct {
	agent, call string
	recorded    atomic.Bool
}

// NewCaller names the peer, as pid/uid, and the call by the API's name for it.
func NewCaller(agent, call string) *Caller { return &Caller{agent: agent, call: call} }

type callerKey struct{}

// Context is for the call: what it changes is recorded as this caller's.
func (c *Caller) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Recorded reports whether the audit has the call's record.
func (c *Caller) Recorded() bool { return c.recorded.Load() }

// audit hands a record over. One that is of a call gets its caller, and is the call's only one.
func (e *Engine) audit(ctx context.Context, a AuditEvent) {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		a.Agent, a.Call = c.agent, c.call
		c.recorded.Store(true)
	}
	e.Audit(a)
}

// teller makes of a script's reply what is recorded; a kind that is empty is not.
type teller func(r reply, a *AuditEvent)

// commit runs a script that writes, and has recorded what it did: once, however often it was sent. what is what is known before.
// Errors as run.
func (e *Engine) commit(ctx context.Context, s script, id TicketID, what AuditEvent, args []any) (reply, error) {
	r, err := e.run(ctx, s, e.keys.all(id), args...)
	what.Ticket = id
	if err != nil {
		_, call := ctx.Value(callerKey{}).(*Caller)
		var store *StoreError
		if call && !(errors.As(err, &store) && store.full) {
			what.Kind, what.Reason = AuditUnconfirmed, err.Error()
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
func tellTicket(r reply, a *AuditEvent) {
	a.From, a.To = State(r.text(1)), State(r.member(0, "state"))
	switch {
	case r.code == codeReplayed && a.From == "": // else it was this very call, whose first answer was lost
		a.Kind, a.From = AuditReplayed, a.To
	case r.code == codeReplayed || r.code == codeOK:
		if a.Token == 0 {
			a.Token = number(r.member(0, "token"))
		}
		if a.Kind == AuditFinished && a.To == Notifying {
			a.Kind = AuditReleased
		}
	default:
		a.Kind = ""
	}
}

func tellMint(r reply, a *AuditEvent) {
	tellTicket(r, a)
	a.Token = r.number(2)
}

// tellRelease: the end of a claim is told when it comes, so that here it is told only if an agent asked for it, or if it moved
// the ticket.
func tellRelease(r reply, a *AuditEvent) {
	a.From, a.To = State(r.text(0)), State(r.text(1))
	if a.Kind == "" && a.From != a.To && a.To == Finished {
		a.Kind = AuditFinished
	}
}

func tellBreak(r reply, a *AuditEvent) {
	a.Ticket.Task, a.From, a.To = r.text(1), State(r.text(2)), State(r.text(3))
}

func tellIdle(r reply, a *AuditEvent) {
	a.From, a.To = Notified, Finished
	if r.text(0) != "1" {
		a.Kind = ""
	}
}

func tellOwn(r reply, a *AuditEvent) {
	a.From, a.To = Notifying, Notifying
	if r.code != codeOK {
		a.Kind = ""
	}
}

func tellAttempt(r reply, a *AuditEvent) {
	a.From, a.To = Notifying, Notifying
	switch r.code {
	case codeGo:
	case codeDone:
		if a.To = State(r.text(1)); a.To == "" {
			a.Kind = ""
			return
		}
		a.Kind, a.Reason = AuditReceipt, "it has a receipt"
	case codePark:
		a.Kind, a.To, a.Reason = AuditParked, State(r.text(0)), "what became of the last attempt is not known"
	default:
		a.Kind = ""
	}
}

func tellOutcome(r reply, a *AuditEvent) {
	a.From, a.To = State(r.text(2)), State(r.text(3))
	switch r.text(1) {
	case "replayed":
		a.Kind, a.Call = AuditReplayed, "outcome"
	case "superseded":
		a.Kind, a.Call, a.Code = AuditRefused, "outcome", "SUPERSEDED"
	}
}

// outcomeKind is what a channel's status is called in the audit.
func outcomeKind(s outbox.Status) AuditKind {
	switch s {
	case outbox.Sent:
		return AuditReceipt
	case outbox.Dead:
		return AuditDead
	case outbox.Parked:
		return AuditParked
	}
	return AuditUndelivered
}

// tellBefore records what a mint did to the claim before it: one that ended by expiry, where no script runs by itself.
func (e *Engine) tellBefore(ctx context.Context, c *claim, r reply) {
	ctx = context.WithValue(ctx, callerKey{}, nil)
	before := TicketID{c.ticket.Asset, r.text(3)}
	if token := r.text(4); token != "" {
		e.audit(ctx, AuditEvent{
			Kind: AuditLost, Ticket: before, Token: number(token), Host: r.text(5), Agent: r.text(6),
			Reason: string(ReasonExpired) + ": found by the next claim",
		})
	}
	if r.text(7) == "1" {
		e.audit(ctx, AuditEvent{
			Kind: AuditFinished, Ticket: before, Token: c.token, From: Notified, To: Finished, Reason: "no claim was left to finish it",
		})
	}
}
