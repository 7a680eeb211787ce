// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"testing"
	"time"
)

func TestPercentileIsAValueThatSoManyDoNotExceed(t *testing.T) {
	t.Parallel()
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(100-i))
	}
	for p, want := range map[float64]time.Duration{99: 99, 100: 100, 50: 50, 0.5: 1} {
		if got := percentile(values, p); got != want {
			t.Errorf("the %v-th percentile is %d, want %d", p, got, want)
		}
	}
}

// TestCPUOfAProcessIsWhatTheKernelCountsForIt: both readings are of this process, and differ by the kernel's tick at most.
func TestCPUOfAProcessIsWhatTheKernelCountsForIt(t *testing.T) {
	t.Parallel()
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
		continue // it uses some
	}
	before, err := ownCPU()
	if err != nil {
		t.Fatal(err)
	}
	got, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after, err := ownCPU()
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond
	if got < before-2*tick || got > after+2*tick {
		t.Errorf("got %s, want from %s to %s", got, before, after)
	}
}
