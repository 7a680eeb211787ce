// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "time"

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
