// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"time"

	"github.com/picketd/picket/engine/store"
)

// view is the claim at this moment.
func (e *Engine) view(c *claim) Claim {
	m := e.dog.at(e.now())
	c.mu.Lock()
	defer c.mu.Unlock()
	v := Claim{
		ID: c.id, Token: c.token, Ticket: c.ticket, Status: c.status, Reason: c.reason, Since: c.since,
		PID: c.pid, UID: c.uid, Heartbeat: c.heartbeat, MaxHold: c.maxHold, Margin: e.trust.margin,
	}
	if c.status == Held {
		v.Trusted = max(c.endLocked(m)-m.now, 0)
	}
	return v
}

// lockTrust is how long the claim can be relied upon whatever its heartbeat.
func (e *Engine) lockTrust(c *claim) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(min(c.trusted, c.cappedAt())-e.now(), 0)
}

// holding is this daemon's own claim as a ticket's holder.
func (e *Engine) holding(c *claim) *store.Holder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &store.Holder{
		Host: e.daemon.Host, PID: c.caller, UID: c.uid, Task: c.ticket.Task, Since: c.since,
		Remaining: max(c.trusted+e.trust.margin-e.now(), 0),
	}
}
