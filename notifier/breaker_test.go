// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Now()
	for i := range breakAfter {
		if w := b.admit(now); w != 0 {
			t.Fatalf("after %d failures: %v", i, w)
		}
		if open := b.report(false, now); open != (i == breakAfter-1) {
			t.Fatalf("open %v after %d failures", open, i+1)
		}
	}
	if w := b.admit(now.Add(4 * time.Second)); w != 6*time.Second {
		t.Errorf("open: %v", w)
	}
	now = now.Add(probeEvery)
	if w := b.admit(now); w != 0 {
		t.Errorf("the probe waits %v", w)
	}
	if w := b.admit(now); w != probeEvery {
		t.Errorf("a second probe waits %v", w)
	}
	b.withdraw()
	if w := b.admit(now); w != 0 {
		t.Errorf("a probe that was given back: the next waits %v", w)
	}
	if open := b.report(false, now); !open {
		t.Error("closed by a failed probe")
	}
	if w := b.admit(now.Add(time.Second)); w != probeEvery-time.Second {
		t.Errorf("after a failed probe: %v", w)
	}
	if open := b.report(true, now); open || b.admit(now) != 0 {
		t.Error("an answer does not close it")
	}
}
