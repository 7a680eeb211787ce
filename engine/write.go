// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/picketd/picket/engine/store"
)

// WriteResult is a ticket after a write.
type WriteResult struct {
	Ticket   store.Ticket
	Next     []store.Next
	Replayed bool
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
