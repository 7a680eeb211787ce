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
	c.unanswered = status == Lost && (c.unanswered || c.ending > 0)
	unanswered := c.unanswered
	if reason == ReasonSilent || reason == ReasonMaxHold {
		c.freeAt = e.now() + e.trust.margin
	}
	close(c.ended)
	c.mu.Unlock()

	e.metrics.ended.WithLabelValues(string(reason)).Inc()
	now := e.now()
	e.journal.forget(e.claims.end(c, now)...)
	e.processes.remove(c)
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

// forget keeps a daemon that has become idle from remembering what it ended before.
func (e *Engine) forget(ctx context.Context) {
	ticker := time.NewTicker(rememberFor / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.journal.forget(e.claims.forget(e.now())...)
		case <-ctx.Done():
			return
		}
	}
}

// tellLost tells of a claim that was lost.
func (e *Engine) tellLost(c *claim) {
	reason := c.lost().Reason
	told := c.event(audit.Lost)
	told.Reason = string(reason)
	e.config.Audit(told)
	e.log.Warn("claim lost", "claim", c.id, "ticket", c.ticket.String(), "token", c.token, "reason", reason, "agent", c.agent)
}

// keep puts the claim into the journal: with its last sign of life, which was at that time, or with how it ended then.
func (e *Engine) keep(c *claim, at time.Duration) <-chan struct{} {
	c.mu.Lock() // until it is in the journal, so that an older state of the claim never comes after a newer one
	defer c.mu.Unlock()
	return e.journal.keep(c.recordLocked(at))
}

func (c *claim) recordLocked(at time.Duration) record {
	r := record{
		ID: c.id, Nonce: c.nonce, Token: c.token, Asset: c.ticket.Asset, Task: c.ticket.Task, Flow: c.flow.Name, UID: c.uid,
		Owner: c.owner, Account: c.account, PID: c.pid, Caller: c.caller, Heartbeat: c.heartbeat, MaxHold: c.maxHold, Since: c.since,
	}
	if c.status != Held {
		r.Status, r.Reason, r.Finished, r.EndedAt, r.Unanswered = c.status, c.reason, c.finished, at, c.unanswered
		return r
	}
	r.Request, r.Started, r.Sign = c.request, c.started, at
	if c.process != nil {
		r.Watched, r.Start = true, c.process.StartTime()
	}
	return r
}

// records are all claims as they stand in the journal.
func (e *Engine) records() (all []record) {
	e.claims.mu.Lock()
	defer e.claims.mu.Unlock()
	add := func(c *claim, at func() time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		all = append(all, c.recordLocked(at()))
	}
	for _, c := range e.claims.byID {
		add(c, func() time.Duration { return c.noted })
	}
	for _, x := range e.claims.ended {
		add(x.revive(), func() time.Duration { return x.at })
	}
	return all
}
