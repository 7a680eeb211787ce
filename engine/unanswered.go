// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"slices"
	"time"
)

// noteUnanswered notes that a finish or a release of the claim got no answer: whether it has ended the claim is not known.
func (e *Engine) noteUnanswered(c *claim, err error) {
	if errors.Is(err, ErrStoreUnavailable) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unanswered = true
	}
}

// endedByCall asks the ticket's history whether a finish or a release has ended the claim.
func (e *Engine) endedByCall(ctx context.Context, c *claim) (bool, error) {
	events, _, err := e.History(ctx, c.ticket)
	if errors.Is(err, ErrTicketNotFound) {
		return false, nil
	}
	return slices.ContainsFunc(events, func(ev Event) bool {
		return ev.Token == c.token && (ev.Event == "released" || ev.Event == "finished")
	}), err
}

// resolveEnd finds out what became of a claim that was lost while a call to end it had no answer: if that had landed, it was not
// lost but released, and the call answers as before. It is called again until it is known.
func (e *Engine) resolveEnd(ctx context.Context, c *claim) (known bool) {
	if c.lost() == nil || !c.isUnanswered() {
		return true
	}
	ended, err := e.endedByCall(ctx, c)
	if err != nil {
		return false
	}
	c.mu.Lock()
	first := c.unanswered
	c.unanswered = false
	if first && ended {
		c.status, c.reason, c.finished = Released, ReasonReleased, c.finishing
	}
	c.mu.Unlock()
	switch {
	case first && ended:
		e.keep(c, e.now())
	case first:
		e.tellLost(c)
	}
	return true
}

// clearUp resolves the end of a claim when Redis answers, as long as the claim is remembered.
func (e *Engine) clearUp(ctx context.Context, c *claim) {
	for until := e.now() + rememberFor; e.now() < until; {
		ask, cancel := context.WithTimeout(ctx, storeTimeout)
		known := e.resolveEnd(ask, c)
		cancel()
		if known {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// isUnanswered reports whether a call to end the claim got no answer.
func (c *claim) isUnanswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unanswered
}

// setFinishing notes that what ends the claim next may be a finish.
func (c *claim) setFinishing(v bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishing = v
}
