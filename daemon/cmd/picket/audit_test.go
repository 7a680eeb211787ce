// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
)

// auditLines are records as the daemon writes them to standard error, with another line between.
func auditLines(run string, numbers ...string) string {
	var b strings.Builder
	for _, n := range numbers {
		n, dropped, _ := strings.Cut(n, " ")
		event := "step"
		switch {
		case dropped == "end":
			event, dropped = "stopped", ""
		case dropped != "":
			event = "dropped"
		}
		fmt.Fprintf(&b, `{"MESSAGE":"m","PICKET_EVENT":%q,"PICKET_RUN":%q,"PICKET_SEQ":%q,"PICKET_TIME":"2026-11-29T08:00:00.000000Z","PICKET_DROPPED":%q}`+"\n", event, run, n, dropped)
		fmt.Fprintln(&b, `{"level":"INFO","msg":"another line"}`)
	}
	return b.String()
}

func TestG12_VerifyFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in                      string
		code                    int
		dropped, missing, twice string
		ended                   bool
	}{
		"whole":                 {in: auditLines("a", "1", "2", "3 end"), ended: true},
		"killed":                {in: auditLines("a", "1", "2", "3")},
		"told":                  {in: auditLines("a", "1", "5 2-4", "6"), dropped: "2-4"},
		"told in parts":         {in: auditLines("a", "1", "5", "9", "10 2-4 6 7-8"), dropped: "2-4 6-8"},
		"not told":              {in: auditLines("a", "1", "5"), code: 1, missing: "2-4"},
		"told in part":          {in: auditLines("a", "1", "6", "7 3-4"), code: 1, dropped: "3-4", missing: "2 5"},
		"the first is missing":  {in: auditLines("a", "2", "3"), code: 1, missing: "1"},
		"one comes late":        {in: auditLines("a", "1", "2", "4", "3", "5 end"), ended: true},
		"one comes twice":       {in: auditLines("a", "1", "2", "2"), code: 1, twice: "2"},
		"a lie is no excuse":    {in: auditLines("a", "1", "4 9-2 x -"), code: 1, missing: "2-3"},
		"nothing to be read is": {in: "", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := runs([]string{"picket", "audit", "--verify", "--json", "--file", "-"}, strings.NewReader(c.in), &out, &errs)
			if code != c.code {
				t.Fatalf("exit %d, want %d: %s%s", code, c.code, &out, &errs)
			}
			if c.in == "" {
				return
			}
			var got struct{ Runs []audit.Run }
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Runs) != 1 {
				t.Fatalf("%v: %s", err, &out)
			}
			r := got.Runs[0]
			join := func(s []string) string { return strings.Join(s, " ") }
			if join(r.Dropped) != c.dropped || join(r.Missing) != c.missing || join(r.Twice) != c.twice || r.Ended != c.ended {
				t.Errorf("got %s", &out)
			}
		})
	}
}

func TestVerifyCountsEachRunByItself(t *testing.T) {
	t.Parallel()
	in := auditLines("a", "1", "2 end") + auditLines("b", "1", "3") + auditLines("c", "1")
	var out, errs bytes.Buffer
	if code := runs([]string{"picket", "audit", "--verify", "--file", "-"}, strings.NewReader(in), &out, &errs); code != 1 {
		t.Errorf("exit %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.HasSuffix(lines[1], "stopped            -        -        -     -        -") || !strings.Contains(lines[2], " 2 ") {
		t.Errorf("got\n%s", &out)
	}
	if got := errs.String(); got != "picket: 1 run of the daemon lacks records that nothing accounts for\n" {
		t.Errorf("says %q", got)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	for s, want := range map[string]time.Time{
		"1h": now.Add(-time.Hour), "90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7),
		"2026-11-28":           time.Date(2026, 11, 28, 0, 0, 0, 0, time.Local),
		"2026-11-28 08:30":     time.Date(2026, 11, 28, 8, 30, 0, 0, time.Local),
		"2026-11-28 08:30:05":  time.Date(2026, 11, 28, 8, 30, 5, 0, time.Local),
		"2026-11-28T08:30:05Z": time.Date(2026, 11, 28, 8, 30, 5, 0, time.UTC),
	} {
		if got, err := parseSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "yesterday", "-1h", "1x", "-3d"} {
		if got, err := parseSince(s, now); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

// journalctl is one that says what it is told to, in place of the real one.
func fakeJournalctl(t *testing.T, script string) (args func() []string) {
	t.Helper()
	dir := t.TempDir()
	said := filepath.Join(dir, "args")
	text := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done > " + said + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "journalctl"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return func() []string {
		b, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
}

func TestWhoMayNotReadTheJournalIsToldWhatToDo(t *testing.T) {
	for script, want := range map[string]struct {
		code int
		says string
	}{
		"echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1":                                 {exitNoPerm, "join the group systemd-journal or adm"},
		"echo 'Hint: You are currently not seeing messages from other users and the system.' >&2; echo '-- No entries --'": {exitNoPerm, "join the group systemd-journal or adm"},
		"echo 'No journal files were found.' >&2":                                                                          {exitUnavailable, "there are no journal files on this host"},
		"echo 'Failed to open: Bad message' >&2; exit 1":                                                                   {exitUnavailable, "journalctl ended with exit status 1: Failed to open: Bad message"},
		"exit 0": {0, ""},
	} {
		fakeJournalctl(t, script)
		var out, errs bytes.Buffer
		if code := runs([]string{"picket", "audit"}, strings.NewReader(""), &out, &errs); code != want.code || !strings.Contains(errs.String(), want.says) || out.Len() > 0 {
			t.Errorf("%s: exit %d: %s%s", script, code, &out, &errs)
		}
	}
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	if code := runs([]string{"picket", "audit"}, strings.NewReader(""), &out, &errs); code != exitUnavailable || !strings.Contains(errs.String(), "there is no journalctl") {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
}

func TestJournalctlIsAskedForExactlyWhatIsWanted(t *testing.T) {
	args := fakeJournalctl(t, "")
	var out, errs bytes.Buffer
	code := runs([]string{"picket", "audit", "--ticket", "A.Example/$(id)/t", "--agent", "7/1000", "--refused", "--since", "2026-11-29T08:00:00Z", "--follow"}, strings.NewReader(""), &out, &errs)
	want := []string{
		"--output=json", "--all", "--no-pager", "--since=@1795939200", "--follow", "--no-tail", "SYSLOG_IDENTIFIER=picket",
		"PICKET_TICKET=A.Example/$(id)/t", "PICKET_AGENT_PID=7", "PICKET_AGENT_UID=1000", "PICKET_EVENT=refused", "PICKET_EVENT=refusals",
	}
	if got := args(); code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit %d: %s%s\ngot  %q\nwant %q", code, &out, &errs, got, want)
	}
}

func TestAuditRefusesWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--verify", "--follow"},
		{"--file", "-", "--follow"},
		{"--file", ""},
		{"--verify", "--asset", "a"},
		{"--agent", "x"},
		{"--agent", "/"},
		{"--ticket", "a"},
		{"--since", "then"},
		{"more"},
	} {
		var out, errs bytes.Buffer
		if code := runs(append([]string{"picket", "audit"}, args...), strings.NewReader(""), &out, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%v: exit %d: %s", args, code, &errs)
		}
	}
	var out, errs bytes.Buffer
	if code := runs([]string{"picket", "audit", "--asset", ".."}, strings.NewReader(""), &out, &errs); code != exitData {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

// TestAuditFitsTheTerminal: what changed and why stand below where there is no room beside.
func TestAuditFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for wide, want := range map[int]string{
		80: "TIME                 EVENT         TICKET                        AGENT\n    FROM → TO · WHAT\n" +
			"2026-11-29 08:00:00  step          web-01/w48                    7/0\n    ASSET_ONLINE → VULN_CHECK_DONE · vuln\n" +
			"2026-11-29 08:00:00  dead          web-01/w48                    -\n    ops · HTTP 400 from https://alerts.example.com/hook-of-the-team: the text is\n    too long\n" +
			"2026-11-29 08:00:00  started       -                             -\n",
		0: "TIME                 EVENT            TICKET                        FROM → TO                         AGENT         WHAT\n" +
			"2026-11-29 08:00:00  step             web-01/w48                    ASSET_ONLINE → VULN_CHECK_DONE    7/0           vuln\n" +
			"2026-11-29 08:00:00  dead             web-01/w48                    -                                 -             " +
			"ops · HTTP 400 from https://alerts.example.com/hook-of-the-team: the text is too long\n" +
			"2026-11-29 08:00:00  started          -                             -                                 -\n",
	} {
		var b strings.Builder
		show := auditRows(&b, wide)
		for _, r := range []audit.Record{
			{Event: audit.Event{Kind: audit.Step, From: "ASSET_ONLINE", To: "VULN_CHECK_DONE", Step: "vuln"}, Ticket: "web-01/w48", AgentPID: "7", AgentUID: "0"},
			{Event: audit.Event{Kind: audit.Dead, Channel: "ops", Reason: "HTTP 400 from https://alerts.example.com/hook-of-the-team: the text is too long"}, Ticket: "web-01/w48"},
			{Event: audit.Event{Kind: audit.Started}},
		} {
			r.Time = time.Date(2026, 11, 29, 8, 0, 0, 0, time.Local)
			if err := show(&r); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != want {
			t.Errorf("within %d:\n%swant\n%s", wide, b.String(), want)
		}
	}
}
