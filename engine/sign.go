// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "context"

// noteShare is which part of a heartbeat may pass until a further sign of life is written into the journal.
const noteShare = 10

// Heartbeat counts as a sign of life. Errors: as GetClaim, and *LostError when the claim ended. The other calls on a claim
// count too.
func (e *Engine) Heartbeat(_ context.Context, id string, uid uint32) (Claim, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return Claim{}, err
	}
	if err := e.alive(c); err != nil {
		return Claim{}, err
	}
	return e.view(c), nil
}

// alive notes a sign of life, or says why the claim ended.
func (e *Engine) alive(c *claim) error {
	e.expire(c)
	if lost := c.lost(); lost != nil {
		return lost
	}
	m := e.dog.at(e.now())
	c.mu.Lock()
	c.sign = m.clock
	note := c.heartbeat > 0 && m.now-c.noted > c.heartbeat/noteShare
	if note {
		c.noted = m.now
	}
	c.mu.Unlock()
	if note {
		e.keep(c, m.now)
	}
	return nil
}

// calling says that a call of the agent on the claim is under way until end is called, and that it is not silent meanwhile.
func (e *Engine) calling(c *claim) (end func()) {
	if c.heartbeat == 0 {
		return func() {}
	}
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	return func() {
		m := e.dog.at(e.now())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls--
		c.sign = m.clock
	}
}

// expire ends a claim whose trust or time has run out, before anyone relies on it: after a freeze the watchdog may come second.
func (e *Engine) expire(c *claim) {
	now := e.now()
	c.mu.Lock()
	reason := Reason("")
	switch {
	case c.status != Held:
	case now >= c.trusted:
		reason = ReasonExpired
	case now >= c.cappedAt():
		reason = ReasonMaxHold
	}
	c.mu.Unlock()
	if reason != "" {
		e.conclude(c, reason)
	}
}
