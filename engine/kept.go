// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "time"

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
