// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/picketd/picket/engine/store"
)

// noteUnanswered notes that a finish or a release of the claim got no answer: whether it has ended the claim is not known.
func (e *Engine) noteUnanswered(c *claim, err error) {
	if errors.Is(err, store.ErrUnavailable) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unanswered = c.unanswered || c.status == Held // of one that has ended it was noted then, and may be known by now
	}
}

// endedByCall asks the ticket's history whether a finish or a release has ended the claim, and notes which.
func (e *Engine) endedByCall(ctx context.Context, c *claim) (bool, error) {
	events, _, err := e.History(ctx, c.ticket)
	if errors.Is(err, store.ErrTicketNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	by, err := e.store.FinishedBy(ctx, c.ticket) // by a step, too
	if err != nil {
		return false, err
	}
	if by == c.nonce {
		c.setFinished()
	}
	ended := slices.IndexFunc(events, func(ev store.Event) bool { // a loss on a NOTIFIED ticket finishes it
		return ev.Token == c.token && (ev.Event == "released" || ev.Event == "lost" || ev.Event == "finished" && ev.Agent == c.agent)
	})
	return by == c.nonce || ended >= 0 && events[ended].Event != "lost", nil
}

// resolveEnd finds out what became of a claim that was lost while a call to end it had no answer: if that had landed, it was not
// lost but released, and the call answers as before. It waits for its turn, as a write that is under way may land after the question.
// An error is that this is still not known.
func (e *Engine) resolveEnd(ctx context.Context, c *claim) error {
	if c.lost() == nil || !c.isUnanswered() {
		return nil
	}
	if err := c.writes.Enter(ctx); err != nil {
		return err
	}
	defer c.writes.Leave()
	return e.resolveInTurn(ctx, c)
}

func (e *Engine) resolveInTurn(ctx context.Context, c *claim) error {
	ended, err := e.endedByCall(ctx, c)
	if err != nil {
		return err
	}
	e.noteEnd(c, ended)
	return nil
}

// noteEnd notes what became of the end of a claim, once.
func (e *Engine) noteEnd(c *claim, ended bool) {
	c.mu.Lock()
	first := c.unanswered
	c.unanswered = false
	switch {
	case first && ended:
		c.status, c.reason = Released, ReasonReleased
	case first: // what was read of a finish may be lost
		c.finished = false
	}
	c.mu.Unlock()
	if !first {
		return
	}
	e.claims.resolved(c)
	e.keep(c, e.now())
	if !ended {
		e.tellLost(c)
	}
}

// clearUp resolves the end of a claim when Redis answers. One that is not known as long as the claim is remembered is told as lost.
func (e *Engine) clearUp(ctx context.Context, c *claim) {
	for until := e.now() + rememberFor; e.now() < until; {
		ask, cancel := context.WithTimeout(ctx, store.CallTimeout)
		err := e.resolveEnd(ask, c)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return // the next run does it
		case <-time.After(time.Second):
		}
	}
	e.noteEnd(c, false)
}
