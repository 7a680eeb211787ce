// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestExponentIsTheSlopeOfTheLogarithms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3, 30, 300}, 1},
		{[]float64{2, 200, 20_000}, 2},
		{[]float64{7, 7, 7}, 0},
	} {
		if got := exponent([]int{10, 100, 1000}, c.values); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("of %v it is %v, want %v", c.values, got, c.want)
		}
	}
	if got := exponent([]int{10}, []float64{1}); !math.IsNaN(got) {
		t.Errorf("of one size it is %v, want none", got)
	}
}

func TestSizesGrow(t *testing.T) {
	t.Parallel()
	var s sizes
	if err := s.Set("5,50"); err != nil || s.String() != "5,50" {
		t.Errorf("got %s, %v", &s, err)
	}
	for _, bad := range []string{"", "5,", "0", "x", "50,5", "5,5"} {
		if err := s.Set(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestScaleCounts is a short round, which looks at counts and not at times.
func TestScaleCounts(t *testing.T) {
	t.Parallel()
	picket := filepath.Join(t.TempDir(), "picket")
	build := exec.Command("go", "build", "-trimpath", "-o", picket, "../cmd/picket")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as packages are made, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &scale{daemons: sizes{5, 20}, assets: sizes{400}, picket: picket}
	var fleets, lists []growth
	err := func() (err error) {
		defer catch(&err)
		fleets, lists = s.fleets(context.Background()), s.lists(context.Background())
		return nil
	}()
	if err != nil {
		t.Fatal(err)
	}
	deliveries := fleets[len(fleets)-1].values
	for i, n := range s.daemons {
		if got := deliveries[i]; got != releaseWaiters {
			t.Errorf("a release is told to %v of %d daemons, and %d wait for it", got, n, releaseWaiters)
		}
	}
	if got := lists[4].values[0]; got < 1 || got > 12 {
		t.Errorf("a host that goes through a list that is done asks Redis %v times an asset", got)
	}
}
