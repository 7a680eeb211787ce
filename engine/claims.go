// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"time"

	"github.com/picketd/picket/engine/store"
)

// MostClaims is how many claims the user has that has the most, those that are being made too.
func (e *Engine) MostClaims() int { return e.claims.most() }

// Held is how many claims are held.
func (e *Engine) Held() (n int) {
	e.claims.mu.Lock()
	defer e.claims.mu.Unlock()
	for _, held := range e.claims.byAsset {
		n += len(held)
	}
	return n
}

// Claims returns the held claims of uid, or of everybody for root (0), oldest first.
func (e *Engine) Claims(uid uint32) []Claim {
	list := []Claim{}
	for _, c := range e.claims.held(uid) {
		list = append(list, e.view(c))
	}
	return list
}

// GetClaim returns a claim of uid (root: anyone's). Of another's it says ErrForbidden, of an unknown one ErrClaimNotFound.
func (e *Engine) GetClaim(id string, uid uint32) (Claim, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return Claim{}, err
	}
	e.expire(c)
	return e.view(c), nil
}

// WatchClaim returns the claim when its status is or becomes other than held, at latest after min(wait, TTL/3) with the
// trust that is left then.
func (e *Engine) WatchClaim(ctx context.Context, id string, uid uint32, wait time.Duration) (Claim, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return Claim{}, err
	}
	timer := time.NewTimer(min(wait, e.config.TTL/3))
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
	case <-e.draining.Done():
	case <-ctx.Done():
		if !e.Draining() {
			return Claim{}, context.Cause(ctx)
		}
	}
	e.expire(c)
	v := e.view(c)
	if e.Draining() && v.Status == Held { // the caller asks the next run, and until that serves nothing is silence
		v.Trusted = e.lockTrust(c)
	}
	return v, nil
}

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
