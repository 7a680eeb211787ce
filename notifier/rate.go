// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"sync"
	"time"

	"github.com/picketd/picket/notifier/channel"
)

// rate lets at most N through in any Period. It is not a token bucket, because a full bucket and its refill
// together would let twice as many through, and receivers count.
type rate struct {
	channel.Rate

	mu     sync.Mutex
	passed []time.Time // of the last period, oldest first; at most N
}

// rates are limits that hold together.
type rates []*rate

func (rs rates) admit(now time.Time) (wait time.Duration) {
	for i, r := range rs {
		if wait = r.admit(now); wait > 0 {
			rs[:i].withdraw()
			return wait
		}
	}
	return 0
}

func (rs rates) withdraw() {
	for _, r := range rs {
		r.withdraw()
	}
}

func (r *rate) admit(now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(now)
	if len(r.passed) >= r.N {
		return r.Period - now.Sub(r.passed[0])
	}
	r.passed = append(r.passed, now)
	return 0
}

func (r *rate) forgetLocked(now time.Time) {
	for len(r.passed) > 0 && now.Sub(r.passed[0]) >= r.Period {
		r.passed = r.passed[1:]
	}
}

// withdraw gives back one that was admitted and did not become a send.
func (r *rate) withdraw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.passed) > 0 {
		r.passed = r.passed[:len(r.passed)-1]
	}
}

// wait is when the next but ahead may pass.
func (rs rates) wait(now time.Time, ahead int) (wait time.Duration) {
	for _, r := range rs {
		wait = max(wait, r.wait(now, ahead))
	}
	return wait
}

func (r *rate) wait(now time.Time, ahead int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(now)
	ahead -= r.N - len(r.passed) // those pass now
	if ahead < 0 {
		return 0
	}
	rounds, i := ahead/r.N, ahead%r.N
	passed := now // of those that pass now
	if i < len(r.passed) {
		passed = r.passed[i]
	}
	return max(passed.Add(time.Duration(rounds+1)*r.Period).Sub(now), 1)
}
