// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// partly is the ticket of an asset whose scanner says that it could not try all.
func partly(asset, task string, high bool, list ...findings.Finding) *client.Ticket {
	t := scanned(asset, task, high, list...)
	facts, err := json.Marshal(verdict.FactsOf(findings.Report{Findings: list, Incomplete: true}))
	if err != nil {
		panic(err)
	}
	t.Steps[client.StepVuln] = client.Step{State: client.StateVulnCheckDone, Facts: facts}
	return t
}

// TestWhatCouldNotBeTriedIsNotFixed, neither in the report of that scan nor in those that follow.
func TestWhatCouldNotBeTriedIsNotFixed(t *testing.T) {
	t.Parallel()
	a, b, c := cve(1, "critical"), cve(2, "high"), cve(3, "low")
	tickets := func(all ...*client.Ticket) []*client.Ticket { return all }
	for name, one := range map[string]struct {
		now    *client.Ticket
		before []*client.Ticket // the newest first
		want   Counts
		rows   map[string]int
	}{
		"not found, but not all was tried": {
			partly("a", "w2", false, b), tickets(scanned("a", "w1", true, a, b)),
			Counts{Assets: 1, Online: 1, Findings: 1, Unknown: 1},
			map[string]int{SectionOpen: 1, SectionUnknown: 1},
		},
		"what is found counts all the same": {
			partly("a", "w2", true, a), tickets(scanned("a", "w1", false)),
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 1, New: 1},
			map[string]int{SectionNew: 1, SectionNewlyHigh: 1},
		},
		"found again": {
			scanned("a", "w3", true, a, b), tickets(partly("a", "w2", false, b), scanned("a", "w1", true, a)),
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 2},
			map[string]int{SectionOpen: 2},
		},
		"gone, as a whole scan shows": {
			scanned("a", "w3", false), tickets(partly("a", "w2", false, b), scanned("a", "w1", true, a)),
			Counts{Assets: 1, Online: 1, Fixed: 2},
			map[string]int{SectionFixed: 2, SectionNoLongerHigh: 1},
		},
		"several that could not try all": {
			scanned("a", "w4", false, c), tickets(partly("a", "w3", false), partly("a", "w2", false, b, c), scanned("a", "w1", true, a, b)),
			Counts{Assets: 1, Online: 1, Findings: 1, Fixed: 2},
			map[string]int{SectionOpen: 1, SectionFixed: 2, SectionNoLongerHigh: 1},
		},
		"failed since": {
			failed("a", "w3", "no such host"), tickets(partly("a", "w2", false, b), scanned("a", "w1", true, a, b)),
			Counts{Assets: 1, Online: 1, Failed: 1, Unknown: 2},
			map[string]int{SectionFailed: 1, SectionUnknown: 2},
		},
	} {
		r, rows := made(t, "w1", Asset{Name: "a", Now: one.now, Last: one.before[0], Base: one.before[0], Older: one.before[1:]})
		if r.Counts != one.want {
			t.Errorf("%s: got %+v, want %+v", name, r.Counts, one.want)
		}
		if !reflect.DeepEqual(rows, one.rows) {
			t.Errorf("%s: got the rows %v, want %v", name, rows, one.rows)
		}
		if got := r.Incomplete == 1; got != verdict.IsIncomplete(*one.now) {
			t.Errorf("%s: %d assets are counted as not tried whole", name, r.Incomplete)
		}
	}
}
