// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/picketd/picket/agent/again"
)

// renew begins a renewal of a claim's lock.
func (e *Engine) renew(c *claim) { e.spawn(func(ctx context.Context) { e.extend(ctx, c) }) }

// extend renews the lock of one claim. A lease's clock starts when the attempt was sent. That the lock is gone is an answer;
// any other failure is unknown, is tried again, and is a loss only when the trust runs out.
func (e *Engine) extend(ctx context.Context, c *claim) {
	defer e.dog.over(c)
	sent := e.now()
	ctx, cancel := context.WithTimeout(ctx, e.config.TTL/6)
	extended, err := e.mutex(e.renewed, c).ExtendContext(ctx)
	cancel()

	var taken *redsync.ErrTaken
	gone := !extended && errors.As(err, &taken)
	reason := ReasonExpired
	if gone {
		reason = e.diagnose(c, e.config.TTL/6)
	}

	c.mu.Lock()
	c.renewing = false
	result := "failed"
	switch {
	case extended:
		result = "ok"
		c.trusted = e.trust.until(sent)
		c.renewAt = e.trust.renewal(sent)
	case gone && c.ending == 0:
		result = "taken"
	default:
		c.renewAt = e.now() + again.Jitter(e.config.TTL/12)
	}
	if c.hurried { // what was heard of may have come after this renewal
		c.hurried, c.renewAt = false, e.now()
	}
	at, held := c.renewAt, c.status == Held
	c.mu.Unlock()
	e.metrics.renewals.WithLabelValues(result).Inc()
	switch {
	case !held:
	case result == "taken":
		e.conclude(c, reason)
	default:
		e.dog.schedule(c, at)
	}
}

// diagnose reads why a lock is no longer the claim's, within a limit.
func (e *Engine) diagnose(c *claim, limit time.Duration) Reason {
	ctx, cancel := context.WithTimeout(e.life, limit)
	defer cancel()
	if c.isUnanswered() {
		if ended, err := e.endedByCall(ctx, c); err == nil && ended {
			return ReasonReleased
		}
	}
	snap, err := e.store.Peek(ctx, c.ticket)
	reset := snap.Lock == "" && snap.Grant.Nonce == "" && len(snap.Hash) == 0
	if err == nil && !reset && snap.Grant.Nonce == "" { // it lives longer than any claim
		e.lookout.Missed(c.ticket.Asset, c.token)
	}
	switch {
	case err != nil:
		return ReasonExpired
	case reset:
		return ReasonStoreReset
	case snap.Grant.Forced:
		return ReasonForced
	case snap.Grant.Nonce != c.nonce || snap.Lock != "" && snap.Lock != c.nonce:
		return ReasonTaken
	}
	return ReasonExpired
}

// free deletes the lock of a claim that ended while its agent may still be there, and logs the loss. It is tried until the lock
// would have run out by itself.
func (e *Engine) free(ctx context.Context, c *claim) {
	ctx, cancel := context.WithTimeout(ctx, e.config.TTL)
	defer cancel()
	c.mu.Lock()
	reason := c.reason
	c.mu.Unlock()
	if err := e.store.Free(ctx, c.ticket, c.writer(), string(reason)); err != nil {
		e.log.Warn("cannot free the lock of an ended claim; it runs out by itself", "ticket", c.ticket.String(), "error", err)
	}
}

// ended is for a claim whose process has ended.
func (e *Engine) ended(c *claim) {
	if e.conclude(c, ReasonProcessExit) {
		e.spawn(func(ctx context.Context) { e.free(ctx, c) })
	}
}

// renewals are those under way, by when they began.
type renewals map[*claim]time.Duration

// begin notes that a renewal of a claim is under way.
func (w *watchdog) begin(c *claim, now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underway[c] = now
}

func (w *watchdog) over(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.underway, c)
}

// progress tells whoever watches the daemon, at most once in so long, that the watchdog's loop has looked at all that was due.
type progress struct {
	report func() // nil: nobody watches
	every  time.Duration
	last   time.Duration // CLOCK_BOOTTIME
}

// report is silent while a renewal hangs: the calls of one have time-outs of TTL/6, so one that lasts longer than the TTL does not wait
// for Redis but for this process.
func (w *watchdog) report(p *progress, now time.Duration) {
	if p.report != nil && now >= p.last+p.every && !w.hangs(now) {
		p.last = now
		p.report()
	}
}

func (w *watchdog) hangs(now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, since := range w.underway {
		if now-since > w.trust.ttl {
			return true
		}
	}
	return false
}
