// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package again

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffDoublesWithJitterUpToItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		full := min(time.Second<<min(n-1, 20), 5*time.Minute)
		if d := Backoff(n, time.Second, 5*time.Minute); d < full/2 || d > full {
			t.Fatalf("after try %d: %v", n, d)
		}
	})
}

func TestReminderSaysWhatBeginsChangesAndLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := Reminder{Every: time.Hour}
		says := func(what, detail string, want bool) {
			t.Helper()
			if got := r.Due(what, detail); got != want {
				t.Errorf("%s, %s is due: %t, want %t", what, detail, got, want)
			}
		}
		says("Redis", "away", true)
		says("Redis", "away", false)
		says("outbox", "away", true)
		says("Redis", "full", true)
		says("Redis", "full", false)
		time.Sleep(time.Hour)
		says("Redis", "full", true)
		says("Redis", "full", false)
		r.Over("Redis")
		says("Redis", "full", true)
		says("outbox", "away", true)
	})
}
