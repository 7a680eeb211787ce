// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"testing"
	"time"
)

func TestRatioIsTheMedianOfTheRoundsRatios(t *testing.T) {
	t.Parallel()
	c := compared{picket: []float64{10, 1, 30}, floor: []float64{10, 10, 20}} // in the second round another took the machine
	if got := c.ratio(); got != 1 {
		t.Errorf("got %v", got)
	}
	if got := median([]time.Duration{4, 1, 3, 2}); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestTurnsGoForwardsAndBackwards(t *testing.T) {
	t.Parallel()
	var order string
	side := func(name string) func() error {
		return func() error { order += name; return nil }
	}
	if err := inTurns(3, side("A"), side("B")); err != nil || order != "ABBAAB" {
		t.Errorf("got %s, %v", order, err)
	}
	broken := errors.New("broken")
	if err := inTurns(3, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestRateCountsAllWorkersAndTellsTheirErrors(t *testing.T) {
	t.Parallel()
	pause := func() error { time.Sleep(time.Millisecond); return nil }
	if r, err := rate(t.Context(), 50*time.Millisecond, []func() error{pause, pause}); err != nil || r <= 0 || r > 2000 {
		t.Errorf("got %v, %v", r, err)
	}
	broken := errors.New("broken")
	if _, err := rate(t.Context(), time.Minute, []func() error{func() error { return broken }}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
