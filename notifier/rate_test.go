// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picketd/picket/notifier/channel"
)

func TestRateLetsNoMoreThroughInAnyPeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		r := &rate{Rate: channel.Rate{N: n, Period: time.Minute}}
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
