// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// series is something that is measured, and by how much its median may grow.
type series struct {
	name  string
	share float64       // of what it was
	fixed float64       // and so much more, in its unit
	from  time.Duration // a soak that is shorter does not judge it: it is not level yet
}

const mib = 1 << 20

// ofDaemon are the series of each measured daemon, and of picket ui those that it has.
var ofDaemon = []series{
	{name: "goroutines", share: 0.05, fixed: 8},
	{name: "descriptors", share: 0.05, fixed: 32}, // a burst leaves connections to Redis in the pools, up to 128
	{name: "resident", share: 0.10, fixed: 6 * mib, from: 2 * time.Minute},
	{name: "heap", share: 0.10, fixed: 4 * mib, from: 2 * time.Minute},
	{name: "intents", fixed: 20},
	{name: "outbox.db", share: 0.10, fixed: mib, from: 2 * time.Minute},
	{name: "claims.db", share: 0.10, fixed: mib, from: 2 * time.Minute},
}

// ofRedis are the series of Redis.
var ofRedis = []series{
	{name: "keys", share: 0.10, fixed: 500, from: 2 * time.Minute}, // those of 20 tickets of a list come and go at once
	{name: "memory", share: 0.10, fixed: mib, from: 2 * time.Minute},
	{name: "clients", share: 0.05, fixed: 96}, // those of three daemons
}

// sample is what was measured at one time in a round, by the names of series.
type sample struct {
	round  int
	values map[string]float64
}

// verdict is what became of a series.
type verdict struct {
	second, last, most float64 // the medians of two quarters, and the largest value
	allowed            float64
	judged             bool
}

func (v verdict) flat() bool { return !v.judged || v.last <= v.allowed }

// judge compares a series' medians over the second and the last quarter of the rounds.
func (s series) judge(samples []sample, name string, rounds int, lasts time.Duration) (v verdict) {
	quarter := func(n int) float64 {
		var values []float64
		for _, one := range samples {
			value, ok := one.values[name]
			if ok && one.round*4/rounds == n {
				values = append(values, value)
			}
			if ok {
				v.most = max(v.most, value)
			}
		}
		if len(values) == 0 {
			return 0
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	v.second, v.last, v.judged = quarter(1), quarter(3), lasts >= s.from
	v.allowed = v.second*(1+s.share) + s.fixed
	return v
}

// report is a table of all series, and the names of those that are not flat.
func report(samples []sample, all map[string]series, rounds int, lasts time.Duration) (table string, grown []string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "series\tsecond quarter\tlast quarter\tallowed\tlargest\t")
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v := all[name].judge(samples, name, rounds, lasts)
		said := "flat"
		if !v.flat() {
			said = "GROWS"
			grown = append(grown, name)
		} else if !v.judged {
			said = "not judged"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, amount(name, v.second), amount(name, v.last), amount(name, v.allowed), amount(name, v.most), said)
	}
	_ = w.Flush()
	return b.String(), grown
}

// amount is a value in the unit that people read.
func amount(name string, value float64) string {
	for _, bytes := range []string{"resident", "heap", ".db", "memory"} {
		if strings.HasSuffix(name, bytes) {
			return fmt.Sprintf("%.1f MiB", value/mib)
		}
	}
	return fmt.Sprintf("%.0f", value)
}

func TestWhatGrowsIsSeen(t *testing.T) {
	const rounds = 8
	s := series{name: "goroutines", share: 0.05, fixed: 8}
	for name, tc := range map[string]struct {
		value func(round, i int) float64
		flat  bool
	}{
		"level":                     {func(int, int) float64 { return 100 }, true},
		"noise":                     {func(r, i int) float64 { return 100 + float64((r*7+i*5)%11) }, true},
		"the start":                 {func(r, _ int) float64 { return 40 + 60*float64(min(r, 2)) }, true},
		"one peak":                  {func(r, i int) float64 { return 100 + 900*float64((r/7)*(i/2)) }, true},
		"it shrinks":                {func(r, _ int) float64 { return 100 - 10*float64(r) }, true},
		"it grows":                  {func(r, _ int) float64 { return 100 + 10*float64(r) }, false},
		"it grows at the end":       {func(r, _ int) float64 { return 100 + 50*float64(max(0, r-5)) }, false},
		"it grows from nothing, up": {func(r, _ int) float64 { return 3 * float64(r) }, false},
	} {
		var samples []sample
		for r := range rounds {
			for i := range 3 {
				samples = append(samples, sample{r, map[string]float64{"x": tc.value(r, i)}})
			}
		}
		if v := s.judge(samples, "x", rounds, time.Minute); v.flat() != tc.flat {
			t.Errorf("%s: got %+v, want flat %t", name, v, tc.flat)
		}
	}
	if v := (series{from: time.Hour}).judge([]sample{{7, map[string]float64{"x": 9}}}, "x", rounds, time.Minute); !v.flat() {
		t.Errorf("a series was judged in a soak that is too short for it: %+v", v)
	}
}
