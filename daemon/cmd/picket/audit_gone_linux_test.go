// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
)

// verified runs picket audit --verify. It returns what became of each run by the first that the journal took of it, as
// "gone 1-3", and how often that was.
func verified(t *testing.T, args ...string) (code int, fates map[string]int, out string) {
	t.Helper()
	code, out = picketAudit(t, append([]string{"--verify", "--json"}, args...)...)
	var answer struct {
		Runs []auditRun `json:"runs"`
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fates = map[string]int{}
	for _, r := range answer.Runs {
		fate := "whole"
		for name, list := range map[string][]string{"gone": r.Gone, "rotated": r.Rotated, "missing": r.Missing} {
			if len(list) > 0 {
				fate = name + " " + strings.Join(list, " ")
			}
		}
		fates[fate]++
	}
	return code, fates, out
}

func journalctlDoes(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("journalctl", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", args, out)
	}
}

// TestG12_VerifySeesWhatTheJournalHasLost: what rotation took at the beginning is told, a hole behind that is a fault.
func TestG12_VerifySeesWhatTheJournalHasLost(t *testing.T) {
	inJournal(t, func(t *testing.T, _ *os.Process) {
		h, _ := journalHost(t)
		t.Setenv("PICKET_CONFIG", filepath.Join(h.dir, "picket.toml"))
		restart := func(begun int) { // and wait for that many beginnings in the journal
			t.Helper()
			h.signal(15)
			<-h.ended
			if err := h.start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the journal has the next run", func() bool {
				_, out := picketAudit(t, "--json")
				return strings.Count(out, `"event":"started"`) == begun
			})
			journalctlDoes(t, "--sync")
		}
		restart(2)
		journalctlDoes(t, "--rotate")
		restart(3) // the second run ends, the third begins
		journalctlDoes(t, "--rotate")
		restart(4)
		if code, fates, out := verified(t); code != 0 || fates["whole"] != 4 {
			t.Fatalf("before anything is lost: exit %d: %s", code, out)
		}
		files, err := filepath.Glob("/run/log/journal/*/system@*.journal")
		if err != nil || len(files) != 2 {
			t.Fatalf("%v, %v", files, err)
		}
		kept, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		first, second := files[0], files[1] // their names have the number of their first entry
		if err := os.Remove(first); err != nil {
			t.Fatal(err)
		}
		code, fates, out := verified(t)
		if code != 0 || fates["rotated 1-3"] != 1 || fates["rotated 1-2"] != 1 || fates["whole"] != 2 {
			t.Errorf("without the oldest file: exit %d: %s", code, out)
		}
		if !strings.Contains(out, "5 older records, of 2 runs of the daemon, are in it no more") {
			t.Errorf("what rotation took is not told: %s", out)
		}
		if code, fates, out := verified(t, "--since", "1h"); code != exitFailed || fates["gone 1-3"] != 1 || fates["gone 1-2"] != 1 {
			t.Errorf("who wants the last hour has the last hour: exit %d: %s", code, out)
		}
		if err := os.WriteFile(first, kept, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(second); err != nil {
			t.Fatal(err)
		}
		if code, fates, out := verified(t); code != exitFailed || fates["gone 3"] != 1 || fates["gone 1-2"] != 1 || fates["whole"] != 2 {
			t.Errorf("without the file in the middle: exit %d: %s", code, out)
		}
		if code, out := picketAudit(t, "--verify", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)); code != exitFailed || !strings.Contains(out, "no records to verify") {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

// TestRotationTakesOnlyWhatIsOldest: before all that is left of the daemon, and before all that is left of anybody.
func TestRotationTakesOnlyWhatIsOldest(t *testing.T) {
	t.Parallel()
	day := func(d, hour int) time.Time { return time.Date(2026, 11, d, hour, 0, 0, 0, time.UTC) }
	marks := []audit.Mark{{Run: "a", Began: day(1, 8), First: 1, Last: 9}, {Run: "b", Began: day(2, 8), First: 1, Last: 5}, {Run: "b", Began: day(2, 9), First: 6, Last: 9}, {Run: "c", Began: day(3, 8), First: 1, Last: 2}}
	for name, c := range map[string]struct {
		left          map[string]numbers
		since, begins time.Time
		rotated, gone string
	}{
		"whole":                          {left: map[string]numbers{"a": {1, 9}, "b": {1, 9}, "c": {1, 2}}, begins: day(1, 7)},
		"a run":                          {left: map[string]numbers{"b": {1, 9}, "c": {1, 2}}, begins: day(2, 7), rotated: "a 1-9"},
		"a run and a half":               {left: map[string]numbers{"b": {7, 9}, "c": {1, 2}}, begins: day(2, 9), rotated: "a 1-9 b 1-5 b 6"},
		"all of them":                    {begins: day(4, 8), rotated: "a 1-9 b 1-5 b 6-9 c 1-2"},
		"a run between":                  {left: map[string]numbers{"a": {1, 9}, "c": {1, 2}}, begins: day(1, 7), gone: "b 1-5 b 6-9"},
		"an end":                         {left: map[string]numbers{"b": {1, 3}, "c": {1, 2}}, begins: day(2, 7), rotated: "a 1-9", gone: "b 4-5 b 6-9"},
		"a run, and others' are left":    {left: map[string]numbers{"b": {1, 9}, "c": {1, 2}}, begins: day(1, 7), gone: "a 1-9"},
		"noted a while after the record": {left: map[string]numbers{"a": {2, 9}, "b": {1, 9}, "c": {1, 2}}, begins: day(1, 8).Add(-time.Minute), rotated: "a 1"},
		"whoever asks for a time":        {left: map[string]numbers{"c": {1, 2}}, since: day(2, 7), begins: day(3, 7), gone: "b 1-5 b 6-9"},
	} {
		runs, order := map[string]*auditRun{}, []*auditRun{}
		for name, n := range c.left {
			runs[name] = &auditRun{Run: name, First: n.first, Last: n.last}
			order = append(order, runs[name])
		}
		compareMarks(runs, order, marks, c.since, c.begins)
		var rotated, gone []string
		for _, name := range []string{"a", "b", "c"} {
			if r := runs[name]; r != nil {
				for _, n := range r.rotated {
					rotated = append(rotated, name+" "+n.String())
				}
				for _, n := range r.gone {
					gone = append(gone, name+" "+n.String())
				}
			}
		}
		if got := strings.Join(rotated, " "); got != c.rotated {
			t.Errorf("%s: rotated is %q, want %q", name, got, c.rotated)
		}
		if got := strings.Join(gone, " "); got != c.gone {
			t.Errorf("%s: gone is %q, want %q", name, got, c.gone)
		}
	}
}
