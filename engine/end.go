// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"time"

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

// keep puts the claim into the journal: with its last sign of life, or with how it ended then.
func (e *Engine) keep(c *claim, sign time.Duration) <-chan struct{} {
	c.mu.Lock() // until it is in the journal, so that an older state of the claim never comes after a newer one
	defer c.mu.Unlock()
	return e.journal.keep(c.recordLocked(sign))
}

func (c *claim) recordLocked(sign time.Duration) record {
	r := record{
		ID: c.id, Nonce: c.nonce, Token: c.token, Asset: c.ticket.Asset, Task: c.ticket.Task, Flow: c.flow.Name, UID: c.uid,
		Owner: c.owner, Account: c.account, PID: c.pid, Caller: c.caller, Request: c.request, Heartbeat: c.heartbeat, MaxHold: c.maxHold, Since: c.since, Started: c.started, Sign: sign,
	}
	if c.process != nil {
		r.Watched, r.Start = true, c.process.StartTime()
	}
	if c.status != Held {
		r.Status, r.Reason, r.Finished, r.EndedAt, r.Unanswered = c.status, c.reason, c.finished, sign, c.unanswered
	}
	return r
}

// records are all claims as they stand in the journal.
func (e *Engine) records() (all []record) {
	now := e.now()
	e.claims.mu.Lock()
	defer e.claims.mu.Unlock()
	for _, c := range e.claims.byID {
		c.mu.Lock()
		sign := c.noted
		if c.status != Held {
			sign = now
		}
		all = append(all, c.recordLocked(sign))
		c.mu.Unlock()
	}
	return all
}
