// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestG12_OneUsersRefusalsDoNotFillTheJournal: what is too much is counted for each user and code, and nothing else is held back.
func TestG12_OneUsersRefusalsDoNotFillTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &lines{}
		a := recorderTo(&lineSink{out: out})
		a.Start(t.TempDir())
		refuse := func(agent, code string, n int) {
			for range n {
				a.Record(Event{Kind: Refused, Agent: agent, Code: code, Reason: "no"})
				synctest.Wait()
			}
		}
		refuse("4711/1001", "FORBIDDEN", 500)
		refuse("4712/1001", "FORBIDDEN", 500) // a pid of the same user
		refuse("4711/1001", "INVALID", 3)
		refuse("4713/1002", "FORBIDDEN", 2)
		a.Record(Event{Kind: Broken, Agent: "1/0"})
		time.Sleep(refusedEvery)
		synctest.Wait()
		refuse("4711/1001", "FORBIDDEN", refusedEach+1) // in the next minute, of which the end tells
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, r := range recordsIn(t, out.String()) {
			key := fmt.Sprint(r["PICKET_EVENT"], " ", r["PICKET_AGENT_UID"], " ", r["PICKET_CODE"])
			if r["PICKET_EVENT"] == string(Refusals) {
				key += " " + r["PICKET_REASON"]
			}
			counts[key]++
		}
		want := map[string]int{
			"refused 1001 FORBIDDEN": 2 * refusedEach, "refused 1001 INVALID": 3, "refused 1002 FORBIDDEN": 2, "broken 0 ": 1, "stopped  ": 1,
			"refusals 1001 FORBIDDEN 980 more within 1m0s": 1, "refusals 1001 FORBIDDEN 1 more within 1m0s": 1,
		}
		if fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Errorf("the records are %v\nwant %v", counts, want)
		}
		wantNumbered(t, out.String())
	})
}

// TestManyUsersAreCountedAsOne: the counts are bounded, whatever uids there are.
func TestManyUsersAreCountedAsOne(t *testing.T) {
	t.Parallel()
	r, told := refusals{}, 0
	for uid := range 10 * refusedUsers {
		if r.admit(Event{Agent: fmt.Sprint("1/", uid), Code: "FORBIDDEN"}) {
			told++
		}
	}
	if len(r) > refusedUsers+1 || told > refusedUsers+refusedEach {
		t.Errorf("%d are counted, %d told", len(r), told)
	}
	if events := r.take(); len(events) != 1 || events[0].Agent != "" || len(r) != 0 {
		t.Errorf("told is %v", events)
	}
}

// TestG12_ARecordIsBounded, whatever somebody sends as a name.
func TestG12_ARecordIsBounded(t *testing.T) {
	t.Parallel()
	out := &lines{}
	a := recorderTo(&lineSink{out: out})
	a.Start(t.TempDir())
	long := strings.Repeat("ü\x1b", 6000)
	a.Record(Event{
		Kind: Refused, Asset: long, Task: long, From: long, To: long,
		Step: long, Channel: long, Reason: long, Host: long,
	})
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := recordsIn(t, out.String())[0]
	for name, value := range r {
		if len(value) > 4*reasonMost || strings.Contains(value, "\x1b") {
			t.Errorf("%s has %d bytes", name, len(value))
		}
	}
	if !strings.HasSuffix(r["PICKET_STEP"], "…") {
		t.Errorf("that it is cut is not told: %q", r["PICKET_STEP"])
	}
}
