// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"sync"
	"time"
)

// A breaker opens after breakAfter failures in a row; from then on one attempt every probeEvery goes out, until one is
// answered. An outage so costs a few attempts of a few intents, not all attempts of all.
const (
	breakAfter = 5
	probeEvery = 10 * time.Second
)

type breaker struct {
	mu       sync.Mutex
	failures int       // in a row
	probe    time.Time // when the last probe was let through, or the breaker opened
	before   time.Time // what probe was before the last one
}

func (b *breaker) admit(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return 0
	}
	if wait = probeEvery - now.Sub(b.probe); wait > 0 {
		return wait
	}
	b.before, b.probe = b.probe, now
	return 0
}

// isOpen reports whether only probes are let through.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= breakAfter
}

// withdraw gives back a probe that did not become a send, so that the next one need not wait.
func (b *breaker) withdraw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.before.IsZero() {
		b.probe, b.before = b.before, time.Time{}
	}
}

// report counts what became of a send, and says whether the breaker is open now.
func (b *breaker) report(answered bool, now time.Time) (open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = time.Time{}
	if answered {
		b.failures = 0
		return false
	}
	if b.failures++; b.failures == breakAfter {
		b.probe = now
	}
	return b.failures >= breakAfter
}
