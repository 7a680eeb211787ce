// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"

	"github.com/picketd/picket/audit"
)

// conclude ends a claim, once: released by ReasonReleased, lost by every other. The first reason stands.
func (e *Engine) conclude(c *claim, reason Reason) bool {
	status := Lost
	if reason == ReasonReleased {
		status = Released
	}
	c.mu.Lock()
	if c.status != Held {
		c.mu.Unlock()
		return false
	}
	c.status, c.reason = status, reason
	c.finished = c.finished || status == Released && c.finishing
	c.unanswered = status == Lost && (c.unanswered || c.ending)
	unanswered := c.unanswered
	if reason == ReasonSilent || reason == ReasonMaxHold {
		c.freeAt = e.now() + e.trust.margin
	}
	close(c.ended)
	c.mu.Unlock()

	e.metrics.ended.WithLabelValues(string(reason)).Inc()
	now := e.now()
	forgotten := e.claims.end(c, now)
	e.processes.remove(c)
	for _, id := range forgotten {
		e.journal.forget(id)
	}
	if kept := e.keep(c, now); status == Released {
		<-kept // before it is answered, so that the same call answers as before after a crash too
	}
	switch {
	case unanswered:
		e.spawn(func(ctx context.Context) { e.clearUp(ctx, c) })
	case status == Lost:
		e.tellLost(c)
	}
	return true
}

// tellLost tells of a claim that was lost.
func (e *Engine) tellLost(c *claim) {
	reason := c.lost().Reason
	told := c.event(audit.Lost)
	told.Reason = string(reason)
	e.config.Audit(told)
	e.log.Warn("claim lost", "claim", c.id, "ticket", c.ticket.String(), "token", c.token, "reason", reason, "agent", c.agent)
}
