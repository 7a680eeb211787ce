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
