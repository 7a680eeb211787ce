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
)

// TestG12_VerifySeesWhatTheJournalHasLost: the whole of a run, its beginning or its end, which no gap in the numbers shows.
func TestG12_VerifySeesWhatTheJournalHasLost(t *testing.T) {
	inJournal(t, func(t *testing.T, _ *os.Process) {
		h, _ := journalHost(t)
		t.Setenv("PICKET_CONFIG", filepath.Join(h.dir, "picket.toml"))
		restart := func() {
			t.Helper()
			h.signal(15)
			<-h.ended
			if err := h.start(); err != nil {
				t.Fatal(err)
			}
		}
		restart()
		until(t, "the journal has all", func() bool {
			code, out := picketAudit(t, "--verify")
			return code == 0 && strings.Contains(out, "stopped")
		})
		for _, args := range [][]string{{"--sync"}, {"--rotate"}, {"--vacuum-time=1us"}} {
			if out, err := exec.Command("journalctl", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		restart() // which ends the second run in the journal, and begins a third
		until(t, "the journal has the third run", func() bool {
			_, out := picketAudit(t, "--json")
			return strings.Count(out, `"event":"started"`) == 1
		})
		code, out := picketAudit(t, "--verify", "--json")
		var answer struct {
			Runs []auditRun `json:"runs"`
		}
		if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		gone := map[string]int{}
		for _, r := range answer.Runs {
			gone[strings.Join(r.Gone, " ")]++
		}
		if code != exitFailed || len(answer.Runs) != 3 || gone[""] != 1 || gone["1-3"] != 1 || gone["1-2"] != 1 {
			t.Errorf("exit %d: %s", code, out)
		}
		if code, out := picketAudit(t, "--verify", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)); code != exitFailed || !strings.Contains(out, "no records to verify") {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}
