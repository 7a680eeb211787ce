// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
)

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
	w, err := e.endBy(ctx, c, e.store.Finish(c.flow, summary), func(store.Ticket) bool { return true }, nil)
	return w.Ticket, err
}

// endBy ends a claim by a write of its own: a finish, or the last step; conflict is what a Conflict means. On a claim that was finished
// before it answers with the ticket, if that is as the write would leave it. A step that is replayed has not ended the claim, as far as is
// known here.
func (e *Engine) endBy(ctx context.Context, c *claim, w store.ClaimWrite, as func(store.Ticket) bool, conflict error) (WriteResult, error) {
	limited, cancel := e.bounded(ctx)
	err := e.resolveEnd(limited, c)
	cancel()
	if err != nil {
		return WriteResult{}, err
	}
	if c.isFinished() {
		return e.finishedBefore(ctx, c, w, as)
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	defer e.endCall(c)()
	ctx, cancel = e.bounded(ctx) // all that follows is of one call, and goes on when the caller goes away
	defer cancel()
	written, err := e.write(ctx, c, w)
	if errors.Is(err, store.ErrUnavailable) {
		e.noteUnanswered(c, err)
		return WriteResult{}, err
	}
	landed := err == nil && written.Code == store.OK
	if landed { // whether or not it can be answered
		c.setFinished()
		e.endHere(c)
	}
	var result WriteResult
	if err == nil {
		result, err = e.written(ctx, c, written, conflict)
	}
	if err != nil {
		if unknown := e.resolveEnd(ctx, c); unknown != nil {
			return WriteResult{}, unknown
		}
		if !landed && c.isFinished() { // an earlier call had, as was found out meanwhile
			return e.finishedBefore(ctx, c, w, as)
		}
		return WriteResult{}, err
	}
	if !result.Replayed {
		result.Ticket.Holder = nil
	}
	return result, nil
}

// finishedBefore answers the end of a claim as the one before that ended it, or refuses one that would have left the ticket otherwise.
func (e *Engine) finishedBefore(ctx context.Context, c *claim, w store.ClaimWrite, as func(store.Ticket) bool) (WriteResult, error) {
	e.endHere(c)
	t, err := e.Ticket(ctx, c.ticket)
	if err != nil {
		return WriteResult{}, err
	}
	if !as(t) {
		e.recordRefusal(c, w)
		return WriteResult{}, c.lost()
	}
	told := c.event(audit.Replayed)
	told.From, told.To = string(t.State), string(t.State)
	e.store.Tell(ctx, told)
	return WriteResult{t, c.flow.Next(t.State), true}, nil
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
	if end.Finished {
		c.setFinished()
	}
	if !end.Recorded {
		if e.expire(c); c.lost() == nil {
			if reason := e.diagnose(c, e.config.TTL/6); reason == ReasonTaken || reason == ReasonForced {
				e.conclude(c, reason)
			}
		}
		if c.lost() != nil { // while this was under way
			if err := e.resolveInTurn(ctx, c); err != nil {
				return err
			}
			if lost := c.lost(); lost.Reason != ReasonReleased {
				return lost
			}
		}
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
