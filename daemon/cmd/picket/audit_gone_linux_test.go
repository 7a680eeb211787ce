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
		Runs []audit.Run `json:"runs"`
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
