// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"strings"
	"testing"
	"time"
)

func TestCountsSayWhatIsAway(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-10 * time.Second)
	c := Counts{Total: 40, Done: 8, Running: 4, Held: 3, Failed: 2, HighRisk: 1, Began: began}
	if want := "8 of 40 done, 4 running, 3 held elsewhere, 2 failed, 1 high risk, about 30s left"; c.Line(time.Now(), 0) != want {
		t.Errorf("it shows %s", c.Line(time.Now(), 0))
	}
	c.Ending = true
	if got := c.Line(time.Now(), 29); got != "8 of 40 done, 2 failed, 1 hig" || strings.Contains(c.Line(time.Now(), 0), "left") {
		t.Errorf("on a narrow terminal, at the end: %q, %q", got, c.Line(time.Now(), 0))
	}
	c = Counts{Total: 9, Done: 4, Before: 2, Held: 1, Later: 2, Failed: 1, Stopped: 1, HighRisk: 1, Began: began, Away: "Redis is away", AwaySince: time.Date(2026, 11, 29, 14, 3, 10, 0, time.Local)}
	if want := "4 of 9 done (2 before), 1 at high risk, 1 failed, 1 held elsewhere, 2 put off, 1 not done because the run was ended, in 10s; Redis is away since 14:03:10"; c.Sentence(began.Add(10*time.Second)) != want {
		t.Errorf("it says %s", c.Sentence(began.Add(10*time.Second)))
	}
	if want := "Redis is away since 14:03:10: 4 of 9 done (2 before), 0 running, 1 held elsewhere, 1 failed, 1 high risk, 2 to be tried later"; c.Line(time.Now(), 0) != want {
		t.Errorf("it shows %s", c.Line(time.Now(), 0))
	}
	if want := "Redis is away since 14:03:10: 4 of 9 done, 1 failed, 1 high risk"; c.Line(time.Now(), 79) != want {
		t.Errorf("within 79 columns it shows %s", c.Line(time.Now(), 79))
	}
}

// TestProgressKeepsWhatMattersOnEightyColumns: how long it takes yet, what failed and who is at high risk.
func TestProgressKeepsWhatMattersOnEightyColumns(t *testing.T) {
	t.Parallel()
	began := time.Now()
	now := began.Add(40 * time.Second)
	c := Counts{Total: 99, Done: 51, Before: 28, Running: 4, Held: 3, Failed: 9, HighRisk: 6, Began: began}
	for want, most := range map[string]int{
		"51 of 99 done (28 before), 4 running, 3 held elsewhere, 9 failed, 6 high risk, about 49s left": 0,
		"51 of 99 done, 3 held elsewhere, 9 failed, 6 high risk, about 49s left":                        79,
		"51 of 99 done, 9 failed, 6 high risk, about 49s left":                                          60,
	} {
		if got := c.Line(now, most); got != want {
			t.Errorf("within %d columns: %s", most, got)
		}
	}
	c.Held, c.Failed, c.HighRisk = 0, 0, 0
	if got, want := c.Line(now, 55), "51 of 99 done, 4 running, about 1m20s left"; got != want {
		t.Errorf("with nothing to tell of the others: %s", got)
	}
}

// TestProgressIsThatOfAllHosts: what is done, and how long it takes yet, and at the end who did what.
func TestProgressIsThatOfAllHosts(t *testing.T) {
	t.Parallel()
	began := time.Now()
	now := began.Add(time.Minute)
	c := Counts{Total: 1000, Done: 300, Before: 200, Running: 4, HighRisk: 2, Began: began, Whole: &Whole{Before: 50, Done: 500, Failed: 20, HighRisk: 7, PerMinute: 240}}
	if got, want := c.Line(now, 0), "500 of 1000 done (100 here), 4 running, 0 held elsewhere, 20 failed, 7 high risk, about 2m left"; got != want {
		t.Errorf("it shows %s", got)
	}
	// What this host knows is not older than what it was told.
	c.Whole = &Whole{Before: 50, Done: 250, HighRisk: 1}
	if got, want := c.Line(now, 0), "300 of 1000 done (100 here), 4 running, 0 held elsewhere, 0 failed, 2 high risk, about 7m left"; got != want {
		t.Errorf("it shows %s", got)
	}
	c.Done, c.Before = 1000, 800
	if got, want := c.Sentence(now), "1000 of 1000 done (200 here, 750 on other hosts, 50 before), 2 at high risk, 0 failed, in 1m"; got != want {
		t.Errorf("it says %s", got)
	}
	c.Whole.Before = 800
	if got, want := c.Sentence(now), "1000 of 1000 done (800 before), 2 at high risk, 0 failed, in 1m"; got != want {
		t.Errorf("it says %s", got)
	}
}
