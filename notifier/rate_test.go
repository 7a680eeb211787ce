// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateLetsNoMoreThroughInAnyPeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		r := &rate{period: time.Minute, n: n}
		now := time.Now()
		var passed []time.Time
		for range rapid.IntRange(1, 50).Draw(t, "tries") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			if wait := r.admit(now); wait > 0 {
				now = now.Add(wait)
				if again := r.admit(now); again > 0 {
					t.Fatalf("waited %v for nothing", wait)
				}
			}
			if rapid.Bool().Draw(t, "withdraw") {
				r.withdraw()
			} else {
				passed = append(passed, now)
			}
		}
		for i := n; i < len(passed); i++ {
			if passed[i].Sub(passed[i-n]) < time.Minute {
				t.Fatalf("%d within %v", n+1, passed[i].Sub(passed[i-n]))
			}
		}
	})
}

func TestRateForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"20/m", "1/s", "1000/h"} {
		if _, err := parseRate(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"20", "20/", "/m", "0/m", "-1/m", "20/d", "20/m/s", "1.5/m", "2000000/h", "20 /m"} {
		if _, err := parseRate(s); err == nil || !strings.Contains(err.Error(), "20/m") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
