// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/picketd/picket/audit"
)

// refusal is what is recorded of a write that is refused.
type refusal struct {
	Event string `json:"event"`
	Step  string `json:"step,omitempty"`
	To    State  `json:"to,omitempty"`
	Token int64  `json:"token"`
	Host  string `json:"host"`
	Agent string `json:"agent"`
}

// StepRequest records a step.
type StepRequest struct {
	Step    string
	State   State
	Facts   json.RawMessage // nil or a valid JSON object
	Summary string
}

// WriteResult is a ticket after a write.
type WriteResult struct {
	Ticket   Ticket
	Next     []Next
	Replayed bool
}

// Step records a step's result, once.
//
// Errors of all writes: ErrClaimNotFound, ErrForbidden, *LostError, ErrStaleToken, *TransitionError, ErrStoreUnavailable; of
// this one also ErrUnknownStep and ErrStepConflict.
func (e *Engine) Step(ctx context.Context, id string, uid uint32, r StepRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := c.flow.checkStep(r.Step); err != nil {
		return WriteResult{}, err
	}
	if r.Facts == nil {
		r.Facts = json.RawMessage("{}")
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	result := Step{r.State, r.Summary, c.token, e.Host, time.Now().Round(time.Millisecond).UTC(), r.Facts}
	record, err := encode(result)
	if err != nil {
		return WriteResult{}, &InvalidError{"facts", "must be a JSON object"}
	}
	result.Facts = json.RawMessage("{}")
	listed, err := brief(r.Facts, result)
	if err != nil {
		return WriteResult{}, err
	}
	from := c.flow.from(r.Step, r.State)
	reply, err := e.write(ctx, c, stepScript, refusal{Event: "step", Step: r.Step, To: r.State},
		r.Step, string(r.State), factsDigest(r.State, r.Facts), record, from.String(), from.without(r.State).String(), r.Summary, listed)
	if err != nil {
		return WriteResult{}, err
	}
	return e.written(c, reply, ErrStepConflict)
}

// FailureRequest records a failure.
type FailureRequest struct {
	Step  string
	Error string
	Final bool
}

// Fail records that a step failed; a final one moves the ticket to FAILED. In NOTIFYING, which only delivery leaves, a final
// one is a *TransitionError.
func (e *Engine) Fail(ctx context.Context, id string, uid uint32, r FailureRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := c.flow.checkStep(r.Step, notifyCall, finishCall); err != nil {
		return WriteResult{}, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	record, err := encode(Failure{Step: r.Step, Error: r.Error, Final: r.Final, At: time.Now().Round(time.Millisecond).UTC()})
	if err != nil {
		return WriteResult{}, err
	}
	from, final, event, to := c.flow.open(), "0", "failure", State("")
	if r.Final {
		from, final, event, to = c.flow.failable(), "1", "failed", Failed
	}
	reply, err := e.write(ctx, c, failureScript, refusal{Event: event, Step: r.Step, To: to},
		r.Step, record, final, from.String(), r.Error)
	if err != nil {
		return WriteResult{}, err
	}
	return e.written(c, reply, nil)
}

// Finish moves the ticket to FINISHED and releases the claim; in NOTIFYING it only releases, and the receipts finish the
// ticket. On a claim that it ended before it answers as before.
func (e *Engine) Finish(ctx context.Context, id string, uid uint32, summary string) (Ticket, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return Ticket{}, err
	}
	limited, cancel := e.bounded(ctx)
	err = e.resolveEnd(limited, c)
	cancel()
	if err != nil {
		return Ticket{}, err
	}
	c.mu.Lock()
	again := c.finished
	c.mu.Unlock()
	if again {
		t, err := e.Ticket(ctx, c.ticket)
		if err == nil {
			told := c.event(audit.Replayed)
			told.From, told.To = string(t.State), string(t.State)
			e.audit(ctx, told)
		}
		return t, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return Ticket{}, err
	}
	defer e.endCall(c)()
	c.setFinishing(true)
	reply, err := e.write(ctx, c, finishScript, refusal{Event: "finished", To: Finished},
		c.flow.from(finishCall, Finished).String(), summary)
	if errors.Is(err, ErrStoreUnavailable) {
		e.noteUnanswered(c, err)
		return Ticket{}, err
	}
	var w WriteResult
	if err == nil {
		w, err = e.written(c, reply, nil)
	}
	if err != nil {
		c.setFinishing(false)
		return Ticket{}, err
	}
	e.conclude(c, ReasonReleased)
	w.Ticket.Holder = nil
	return w.Ticket, nil
}

// Release ends a claim and leaves the ticket as it is (NOTIFIED becomes FINISHED). On a claim that was released it succeeds. It
// goes on when the caller goes away.
func (e *Engine) Release(ctx context.Context, id string, uid uint32) error {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return err
	}
	e.expire(c)
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.resolveEnd(ctx, c); err != nil {
		return err
	}
	if lost := c.lost(); lost != nil {
		if lost.Reason == ReasonReleased {
			e.audit(ctx, c.event(audit.Replayed))
			return nil
		}
		return lost
	}
	defer e.calling(c)()
	defer e.endCall(c)()
	if err := c.writes.enter(ctx); err != nil {
		return err
	}
	defer c.writes.leave()
	_, err = e.commit(ctx, releaseScript, c.ticket, c.event(audit.Released), e.args(c.ticket, c.token, c.nonce, c.agent, "", "released", ""))
	if err != nil {
		e.noteUnanswered(c, err)
		return err
	}
	e.index.touch(c.ticket)
	e.conclude(c, ReasonReleased)
	return nil
}

// endCall says that a lock which is gone is no loss while a call that ends the claim is under way.
func (e *Engine) endCall(c *claim) func() {
	set := func(v bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ending = v
	}
	set(true)
	return func() { set(false) }
}

// write runs a fenced script for a claim, one at a time. A claim that is lost is refused here, and the refusal recorded; Redis
// decides about all others. A caller who goes away does not stop a write that was begun.
func (e *Engine) write(ctx context.Context, c *claim, s script, what refusal, more ...any) (reply, error) {
	what.Token, what.Host, what.Agent = c.token, e.Host, c.agent
	refused, err := encode(what)
	if err != nil {
		return reply{}, err
	}
	defer e.calling(c)()
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := c.writes.enter(ctx); err != nil {
		return reply{}, err
	}
	defer c.writes.leave()
	if err := e.alive(c); err != nil {
		e.recordRefusal(c, refused)
		return reply{}, err
	}
	told := c.event(audit.Kind(what.Event))
	told.Step, told.To = what.Step, string(what.To)
	c.number = max(c.number+1, e.now().Microseconds()) // above those of an earlier run of the daemon, too
	r, err := e.commit(ctx, s, c.ticket, told, e.args(c.ticket, c.token, c.nonce, c.agent, refused, append([]any{c.number}, more...)...))
	if err != nil {
		return reply{}, err
	}
	if r.code == codeStale {
		reason := e.dog.diagnose(c, min(e.TTL/6, time.Second))
		if reason == ReasonExpired { // it could not be told: somebody else's grant is why a write is stale
			reason = ReasonTaken
		}
		e.conclude(c, reason)
		return reply{}, ErrStaleToken
	}
	e.index.touch(c.ticket)
	return r, nil
}

// recordRefusal is best effort: that Redis is away does not keep a caller from learning that its claim is lost.
func (e *Engine) recordRefusal(c *claim, refused string) {
	ctx, cancel := context.WithTimeout(e.life, time.Second)
	defer cancel()
	_, err := e.run(ctx, refuseScript, e.keys.all(c.ticket), e.args(c.ticket, c.token, c.nonce, c.agent, refused, "CLAIM_LOST")...)
	if err != nil {
		e.log.Warn("cannot record a refused write", "ticket", c.ticket.String(), "error", err)
	}
}

// written decodes a write's reply; conflict is what codeConflict means.
func (e *Engine) written(c *claim, r reply, conflict error) (WriteResult, error) {
	s := snapshot{fields: r.pairs(0)}
	c.size.Store(bytesOf(s.fields))
	ticket, err := s.ticket(c.ticket)
	if err != nil {
		return WriteResult{}, err
	}
	next := c.flow.Next(ticket.State)
	switch r.code {
	case codeOK, codeReplayed:
		ticket.Holder = e.holding(c)
		return WriteResult{ticket, next, r.code == codeReplayed}, nil
	case codeConflict:
		return WriteResult{}, conflict
	case codeIllegal:
		return WriteResult{}, &TransitionError{State: ticket.State, Allowed: next, Why: ticket.whyFailed()}
	}
	return WriteResult{}, errors.New("cannot tell what Redis answered")
}

// holding is this daemon's own claim as a ticket's holder.
func (e *Engine) holding(c *claim) *Holder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Holder{
		Host: e.Host, PID: c.caller, UID: c.uid, Task: c.ticket.Task, Since: c.since,
		Remaining: max(c.trusted+e.margin-e.now(), 0),
	}
}
