// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRate bounds what a rate keeps in memory.
const maxRate = 999_999

// rate lets at most n through in any period of that length. It is not a token bucket, because a full bucket and its refill
// together would let twice as many through, and receivers count.
type rate struct {
	period time.Duration
	n      int

	mu     sync.Mutex
	passed []time.Time // of the last period, oldest first; at most n
}

// rates are limits that hold together.
type rates []*rate

func parseRates(all []string) (rates, error) {
	var parsed rates
	for _, s := range all {
		r, err := parseRate(s)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, r)
	}
	return parsed, nil
}

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

// parseRate reads a form like 20/m.
func parseRate(s string) (*rate, error) {
	count, unit, _ := strings.Cut(s, "/")
	period := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxRate || period == 0 {
		return nil, fmt.Errorf("rate must be a number up to %d and s, m or h, like 20/m, not %q", maxRate, s)
	}
	return &rate{period: period, n: n}, nil
}

func (r *rate) admit(now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(now)
	if len(r.passed) >= r.n {
		return r.period - now.Sub(r.passed[0])
	}
	r.passed = append(r.passed, now)
	return 0
}

func (r *rate) forgetLocked(now time.Time) {
	for len(r.passed) > 0 && now.Sub(r.passed[0]) >= r.period {
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
