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

// report tells whoever watches the daemon that the loop has looked at all that was due. It is silent while a renewal hangs: the
// calls of one have time-outs of TTL/6, so one that lasts longer than the TTL does not wait for Redis but for this process.
func (w *watchdog) report(now time.Duration) {
	if w.Progress == nil || !w.reportDue(now) {
		return
	}
	w.Progress()
}

func (w *watchdog) reportDue(now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now < w.reported+w.ProgressEvery {
		return false
	}
	for _, since := range w.underway {
		if now-since > w.TTL {
			return false
		}
	}
	w.reported = now
	return true
}
