// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"math/rand/v2"
	"time"
)

// trust is for how long a lock lets a claim be relied upon. All is on CLOCK_BOOTTIME.
type trust struct {
	ttl    time.Duration
	margin time.Duration // by which the lock in Redis outlives the trust in it
}

func newTrust(ttl time.Duration) trust { return trust{ttl, max(ttl/5, 200*time.Millisecond)} }

// until is when the trust ends of a lock that was taken or renewed by a command sent then.
func (t trust) until(sent time.Duration) time.Duration { return sent + t.ttl - t.margin }

// renewal is when that lock is renewed next.
func (t trust) renewal(sent time.Duration) time.Duration { return sent + jitter(t.ttl/3) }

// jitter spreads a pause over 90 to 110 percent of it.
func jitter(d time.Duration) time.Duration { return d*9/10 + rand.N(d/5+1) }
