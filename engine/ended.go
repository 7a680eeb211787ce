// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"time"

	"github.com/picketd/picket/engine/store"
)

// ended is what is kept of a claim that is no longer held: what calls on it are answered from, in a few hundred bytes.
type ended struct {
	at    time.Duration // CLOCK_BOOTTIME
	claim *claim        // while it is not known what became of its end; nil afterwards

	id, nonce           string
	ticket              store.TicketID
	flow                *store.Flow
	token               int64
	since               time.Time
	heartbeat, maxHold  time.Duration
	uid, owner, account uint32
	pid, caller         int
	finished            bool
	reason              Reason
}

func newEnded(c *claim, at time.Duration) *ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unanswered {
		return &ended{at: at, claim: c, id: c.id}
	}
	return &ended{
		at: at, id: c.id, nonce: c.nonce, ticket: c.ticket, flow: c.flow, token: c.token, since: c.since, heartbeat: c.heartbeat,
		maxHold: c.maxHold, uid: c.uid, owner: c.owner, account: c.account, pid: c.pid, caller: c.caller, finished: c.finished, reason: c.reason,
	}
}

// revive makes the claim again, for a call on it.
func (x *ended) revive() *claim {
	if x.claim != nil {
		return x.claim
	}
	c := &claim{
		id: x.id, nonce: x.nonce, ticket: x.ticket, flow: x.flow, token: x.token, since: x.since, heartbeat: x.heartbeat, maxHold: x.maxHold,
		uid: x.uid, owner: x.owner, account: x.account, pid: x.pid, caller: x.caller, agent: agentName(x.caller, x.uid),
		finished: x.finished, reason: x.reason, status: Lost, ended: closedChan, writes: store.NewTurnstile(),
	}
	if x.reason == ReasonReleased {
		c.status = Released
	}
	return c // of size 0: what it is answered with weighs itself
}

// agentName is who writes, as it stands in Redis.
func agentName(pid int, uid uint32) string { return fmt.Sprintf("%d/%d", pid, uid) }
