// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package again says when something is to be tried again, and when it is to be said again.
package again

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Reminder keeps a log readable: it says a trouble that lasts when it begins, when it changes, and once in Every. It may be used
// at once.
type Reminder struct {
	Every time.Duration

	mu   sync.Mutex // guards said
	said map[string]saying
}

type saying struct {
	detail string
	at     time.Time
}

// Due reports whether a trouble is to be said now. what names it, and is one of a few; detail is what may change of it.
func (r *Reminder) Due(what, detail string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if last, ok := r.said[what]; ok && last.detail == detail && now.Sub(last.at) < r.Every {
		return false
	}
	if r.said == nil {
		r.said = map[string]saying{}
	}
	r.said[what] = saying{detail, now}
	return true
}

// Over forgets a trouble: should it come back, it is said at once.
func (r *Reminder) Over(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.said, what)
}

// Backoff is the pause after try number n (from 1): first, doubled with each try up to most, of which the second half is left to
// chance.
func Backoff(n int, first, most time.Duration) time.Duration {
	d := first
	for ; n > 1 && d < most; n-- {
		d *= 2
	}
	d = min(d, most)
	return d/2 + rand.N(d/2+1)
}

// Jitter spreads a pause over 90 to 110 percent of it.
func Jitter(d time.Duration) time.Duration { return d*9/10 + rand.N(d/5+1) }
