// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
)

// StepRequest records a step.
type StepRequest struct {
	Step    string
	State   store.State
	Facts   json.RawMessage // nil or a valid JSON object
	Summary string
	Finish  bool // the claim ends with it, which must lead to FINISHED
}

// WriteResult is a ticket after a write.
type WriteResult struct {
	Ticket   store.Ticket
	Next     []store.Next
	Replayed bool
}

// Step records a step's result, once.
//
// Errors of all writes: ErrClaimNotFound, ErrForbidden, *LostError, ErrStaleToken, *TransitionError, ErrStoreUnavailable, and
// ErrTicketDamaged, with which the write is recorded all the same; of this one also ErrUnknownStep and ErrStepConflict.
func (e *Engine) Step(ctx context.Context, id string, uid uint32, r StepRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := c.flow.CheckStep(r.Step); err != nil {
		return WriteResult{}, err
	}
	if r.Finish && r.State != store.Finished {
		return WriteResult{}, &InvalidError{"finish", "is for a step that leads to " + string(store.Finished)}
	}
	if r.Facts == nil {
		r.Facts = json.RawMessage("{}")
	}
	w, err := e.store.Step(c.flow, c.token, r.Step, r.State, r.Facts, r.Summary)
	if err != nil {
		return WriteResult{}, &InvalidError{"facts", "must be a JSON object"}
	}
	if r.Finish {
		return e.stepAndFinish(ctx, c, r, w.AndFinish())
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	written, err := e.write(ctx, c, w)
	if err != nil {
		return WriteResult{}, err
	}
	if c.flow == store.ListReport && written.Code == store.OK {
		e.metrics.reports.gathered(c.ticket.Asset, r.Facts)
	}
	return e.written(ctx, c, written, ErrStepConflict)
}

// stepAndFinish records the step with which a claim ends. One that was recorded before may not have ended it.
func (e *Engine) stepAndFinish(ctx context.Context, c *claim, r StepRequest, w store.ClaimWrite) (WriteResult, error) {
	result, err := e.endBy(ctx, c, w, ErrStepConflict)
	if err == nil && result.Replayed && !c.isFinished() {
		result.Ticket, err = e.finish(ctx, c, "")
	}
	if err == nil && result.Ticket.Steps[r.Step].State != r.State { // the claim was finished before, after another step
		return WriteResult{}, c.lost()
	}
	return result, err
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
	if err := c.flow.CheckStep(r.Step, store.NotifyCall, store.FinishCall); err != nil {
		return WriteResult{}, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	w, err := e.store.Fail(c.flow, r.Step, r.Error, r.Final)
	if err != nil {
		return WriteResult{}, err
	}
	written, err := e.write(ctx, c, w)
	if err != nil {
		return WriteResult{}, err
	}
	return e.written(ctx, c, written, nil)
}

// Finish moves the ticket to FINISHED and releases the claim; in NOTIFYING it only releases, and the receipts finish the
// ticket. On a claim that it ended before it answers as before.
func (e *Engine) Finish(ctx context.Context, id string, uid uint32, summary string) (store.Ticket, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return store.Ticket{}, err
	}
	return e.finish(ctx, c, summary)
}

func (e *Engine) finish(ctx context.Context, c *claim, summary string) (store.Ticket, error) {
	w, err := e.endBy(ctx, c, e.store.Finish(c.flow, summary), nil)
	return w.Ticket, err
}

// endBy ends a claim by a write of its own: a finish, or the last step; conflict is what a Conflict means. On a claim that was finished
// before it answers with the ticket. A step that is replayed has not ended the claim, as far as is known here.
func (e *Engine) endBy(ctx context.Context, c *claim, w store.ClaimWrite, conflict error) (WriteResult, error) {
	limited, cancel := e.bounded(ctx)
	err := e.resolveEnd(limited, c)
	cancel()
	if err != nil {
		return WriteResult{}, err
	}
	if c.isFinished() {
		return e.finishedBefore(ctx, c)
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	defer e.endCall(c)()
	written, err := e.write(ctx, c, w)
	if errors.Is(err, store.ErrUnavailable) {
		e.noteUnanswered(c, err)
		return WriteResult{}, err
	}
	var result WriteResult
	if err == nil {
		result, err = e.written(ctx, c, written, conflict)
	}
	switch {
	case err != nil:
		if c.isFinished() { // an earlier call had, as was found out meanwhile
			return e.finishedBefore(ctx, c)
		}
		return WriteResult{}, err
	case !result.Replayed:
		c.setFinished()
		e.endHere(c)
		result.Ticket.Holder = nil
	}
	return result, nil
}

// finishedBefore answers the end of a claim as the one before that ended it.
func (e *Engine) finishedBefore(ctx context.Context, c *claim) (WriteResult, error) {
	t, err := e.Ticket(ctx, c.ticket)
	if err == nil {
		told := c.event(audit.Replayed)
		told.From, told.To = string(t.State), string(t.State)
		e.store.Tell(ctx, told)
	}
	return WriteResult{t, c.flow.Next(t.State), true}, err
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
	if ended, err := e.endedBefore(ctx, c); ended {
		return err
	}
	defer e.calling(c)()
	defer e.endCall(c)()
	if err := c.writes.Enter(ctx); err != nil {
		return err
	}
	defer c.writes.Leave()
	if ended, err := e.endedBefore(ctx, c); ended { // while this waited for its turn
		return err
	}
	end, err := e.store.Release(ctx, c.ticket, c.writer(), "")
	if err != nil {
		e.noteUnanswered(c, err)
		return err
	}
	switch {
	case end.Finished:
		c.setFinished()
	case !end.Recorded && c.lost() != nil: // while this was under way, and another may have the asset
		if err := e.resolveInTurn(ctx, c); err != nil {
			return err
		}
		if lost := c.lost(); lost.Reason != ReasonReleased {
			return lost
		}
		return nil
	case !end.Recorded:
		e.store.Tell(ctx, c.event(audit.Released))
	}
	e.endHere(c)
	return nil
}

// endHere ends a claim by a call that has landed, though the claim may have been lost while that was under way.
func (e *Engine) endHere(c *claim) {
	if !e.conclude(c, ReasonReleased) {
		e.noteEnd(c, true)
	}
}

// endedBefore is the answer to a release of a claim of which is known that it has ended.
func (e *Engine) endedBefore(ctx context.Context, c *claim) (ended bool, err error) {
	lost := c.lost()
	switch {
	case lost == nil || c.isUnanswered():
		return false, nil
	case lost.Reason == ReasonReleased:
		e.store.Tell(ctx, c.event(audit.Replayed))
		return true, nil
	}
	return true, lost
}

// endCall says that a lock which is gone is no loss while a call that ends the claim is under way.
func (e *Engine) endCall(c *claim) func() {
	add := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ending += n
	}
	add(1)
	return func() { add(-1) }
}

// write runs a claim's fenced write, one at a time. A claim that is lost is refused here, and the refusal recorded; Redis decides about
// all others. A caller who goes away does not stop a write that was begun.
func (e *Engine) write(ctx context.Context, c *claim, w store.ClaimWrite) (store.Written, error) {
	defer e.calling(c)()
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := c.writes.Enter(ctx); err != nil {
		return store.Written{}, err
	}
	defer c.writes.Leave()
	if err := e.alive(c); err != nil {
		e.recordRefusal(c, w)
		return store.Written{}, err
	}
	c.number = max(c.number+1, e.now().Microseconds()) // above those of an earlier run of the daemon, too
	by := c.writer()
	by.Number = c.number
	written, err := e.store.WriteClaim(ctx, c.ticket, by, w, c.last())
	if err != nil {
		return store.Written{}, err
	}
	if written.Code == store.Stale {
		reason := e.diagnose(c, min(e.config.TTL/6, time.Second))
		if reason == ReasonExpired { // it could not be told: somebody else's grant is why a write is stale
			reason = ReasonTaken
		}
		e.conclude(c, reason)
		return store.Written{}, ErrStaleToken
	}
	return written, nil
}

// recordRefusal is best effort: that Redis is away does not keep a caller from learning that its claim is lost.
func (e *Engine) recordRefusal(c *claim, w store.ClaimWrite) {
	ctx, cancel := context.WithTimeout(e.life, time.Second)
	defer cancel()
	if err := e.store.Refuse(ctx, c.ticket, c.writer(), w, "CLAIM_LOST"); err != nil {
		e.log.Warn("cannot record a refused write", "ticket", c.ticket.String(), "error", err)
	}
}

// written is the answer to a claim's write; conflict is what a Conflict means.
func (e *Engine) written(ctx context.Context, c *claim, w store.Written, conflict error) (WriteResult, error) {
	c.leave(w.Hash)
	ticket, err := e.store.Complete(ctx, c.ticket, w.Hash, c.recorded(w.Recorded))
	if err != nil {
		return WriteResult{}, err
	}
	next := c.flow.Next(ticket.State)
	switch w.Code {
	case store.OK, store.Replayed:
		ticket.Holder = e.holding(c)
		return WriteResult{ticket, next, w.Code == store.Replayed}, nil
	case store.Conflict:
		return WriteResult{}, conflict
	case store.Illegal:
		return WriteResult{}, &store.TransitionError{State: ticket.State, Allowed: next, Why: ticket.WhyFailed()}
	}
	return WriteResult{}, errors.New("cannot tell what Redis answered")
}
