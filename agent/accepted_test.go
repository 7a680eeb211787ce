// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// acceptedUntil is a file that accepts CVE-2021-44228 everywhere until a day.
func acceptedUntil(t *testing.T, day time.Time) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accepted.toml")
	text := fmt.Sprintf("[[accept]]\nid = \"CVE-2021-44228\"\nassets = [\"*\"]\nuntil = %s\nby = \"security\"\nreason = \"not reachable\"\n", day.UTC().Format(time.DateOnly))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhatIsAcceptedDoesNotCount, is recorded with its reason, and is left out of the message.
func TestWhatIsAcceptedDoesNotCount(t *testing.T) {
	t.Parallel()
	log4j := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	text4 := findings.Finding{ID: "CVE-2022-42889", Severity: "critical", CVSS: 9.8}
	path := acceptedUntil(t, time.Now().Add(48*time.Hour))
	config := fmt.Sprintf("[step.assess]\naccepted = [%q]\n", path)
	j := jobOn(t, config, log4j)
	got, err := j.assess(t.Context())
	if err != nil || got.State != client.StateFinished || got.Summary != "no high risk: nothing else found; 1 accepted (CVE-2021-44228)" {
		t.Errorf("%+v, %v", got, err)
	}
	f := decoded[verdict.AssessFacts](t, got.Facts)
	if f.Inputs.Count != 0 || f.Accepted.Count != 1 || f.Accepted.Risks[0].By != "security" || f.Accepted.Files[0].File != path || f.Accepted.Files[0].Digest == "" {
		t.Errorf("it records %+v", f.Accepted)
	}

	j = jobOn(t, config, log4j, text4)
	if got, err = j.assess(t.Context()); err != nil || got.Summary != "high risk: max_cvss >= 9 (max_cvss is 9.8); 1 accepted (CVE-2021-44228)" {
		t.Errorf("%+v, %v", got, err)
	}
	j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts}
	j.a.files.accepted.read = nil // whoever takes over has other files, or none
	n, err := j.notification()
	if err != nil || strings.Contains(n.Text+n.Title, "44228") || !strings.Contains(n.Text, "1 finding: 1 critical") || !strings.Contains(n.Text, "\n1 more is accepted, and left out.\n") {
		t.Errorf("people are told %q, %v", n.Text, err)
	}
	if sent := decoded[sentFacts](t, n.Facts); sent.Accepted != 1 || sent.Omitted != 0 || len(sent.Findings) != 1 {
		t.Errorf("with %s", n.Facts)
	}
}

// TestWhatWasAcceptedCountsAgain when its day is over, by Redis' clock, and says so.
func TestWhatWasAcceptedCountsAgain(t *testing.T) {
	t.Parallel()
	redis := time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC)
	log4j := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	for days, state := range map[int]string{0: client.StateFinished, -1: client.StateHighRiskFound} {
		j := jobOn(t, fmt.Sprintf("[step.assess]\naccepted = [%q]\n", acceptedUntil(t, redis.AddDate(0, 0, days))), log4j)
		j.ticket.UpdatedAt = redis
		got, err := j.assess(t.Context())
		if err != nil || got.State != state {
			t.Fatalf("%+v, %v", got, err)
		}
		if days == 0 {
			continue
		}
		j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts}
		n, err := j.notification()
		words := strings.Join(verdict.Why(j.ticket).Words, "\n")
		for _, text := range []string{got.Summary, n.Text, strings.ToLower(words)} {
			if !strings.Contains(strings.ToLower(text), "acceptance of cve-2021-44228 ended on 2026-11-30") {
				t.Errorf("that it ended is not in %q, %v", text, err)
			}
		}
	}
}

// TestWhatWasAcceptedIsToldAgain when it counts again, although it was told before, and found all the time.
func TestWhatWasAcceptedIsToldAgain(t *testing.T) {
	t.Parallel()
	log4j := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	now := time.Now()
	var known past
	for i, night := range []struct {
		ago, until time.Duration
		state      string
	}{
		{8, 0, client.StateHighRiskFound},     // told; there is no entry yet
		{7, 0, client.StateFinished},          // and not once more
		{6, -2000, client.StateHighRiskFound}, // an acceptance has ended since
		{5, 1000, client.StateFinished},       // accepted
		{4, 1000, client.StateFinished},
		{3, -1000, client.StateHighRiskFound}, // that has ended, too
		{2, -1000, client.StateFinished},
		{1, 1000, client.StateFinished},
		{0, 0, client.StateHighRiskFound}, // the entry is taken out
	} {
		config := "[notification]\nrepeat = \"20d\"\n"
		if night.until != 0 {
			config += fmt.Sprintf("[step.assess]\naccepted = [%q]\n", acceptedUntil(t, now.Add(night.until*time.Hour)))
		}
		j := jobOn(t, config, log4j)
		j.a.client = clientOf(t, known)
		got, err := j.assess(t.Context())
		if err != nil || got.State != night.state {
			t.Fatalf("night %d: %+v, %v", i, got, err)
		}
		at := now.Add(-night.ago * 24 * time.Hour)
		j.ticket.Task = fmt.Sprint("t", i)
		j.ticket.ID, j.ticket.UpdatedAt = "web-01/"+j.ticket.Task, at
		j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts, At: at}
		if got.State == client.StateHighRiskFound {
			j.ticket.Notification = &client.Notification{At: at}
			j.ticket.Delivery = map[string]client.Delivery{"ops": {Status: client.DeliverySent}}
		}
		known = append(past{j.ticket}, known...)
	}
}

// TestAFileOfAcceptedRisksIsReadAgain when it changes; a mistake in it leaves the one before.
func TestAFileOfAcceptedRisksIsReadAgain(t *testing.T) {
	t.Parallel()
	path := acceptedUntil(t, time.Now().Add(48*time.Hour))
	f, err := openFiles(Config{Step: StepsConfig{Assess: AssessConfig{Accepted: []string{path}}}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	count := func(id string) int {
		return f.accepted.current().Judge("web-01", []findings.Finding{{ID: id}}, time.Now()).Count
	}
	if count("CVE-2021-44228") != 1 {
		t.Error("it is not accepted")
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Replace(string(doc), "CVE-2021-44228", "CVE-2022-1234", 1), "[[accept]]\nid = 3\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if count("CVE-2021-44228") != 0 || count("CVE-2022-1234") != 1 {
			t.Errorf("after %s it is another", text)
		}
	}
}

// TestAReportNamesAcceptedRisksThatMetNothing on the whole list, whoever assessed its assets, and acceptances that are over.
func TestAReportNamesAcceptedRisksThatMetNothing(t *testing.T) {
	t.Parallel()
	path := acceptedUntil(t, time.Now().Add(48*time.Hour))
	notes := func(path string, ids ...string) []string {
		var n acceptance
		add := n.noting(func(report.Asset) error { return nil })
		j := jobOn(t, "")
		for _, id := range ids {
			j = jobOn(t, fmt.Sprintf("[step.assess]\naccepted = [%q]\n", path), findings.Finding{ID: id})
			got, err := j.assess(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts}
			if err := add(report.Asset{Name: "web-01", Now: &j.ticket}); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(report.Asset{Name: "db-01"}); err != nil {
			t.Fatal(err)
		}
		return n.notes(j.a.files.accepted.current())
	}
	for _, c := range []struct {
		ids   []string
		notes string
	}{
		{nil, ""},
		{[]string{"CVE-2020-0001"}, "1 accepted risk met no finding of the 1 asset assessed with these files: CVE-2021-44228 (" + path + ":1)."},
		{[]string{"CVE-2020-0001", "CVE-2021-44228"}, ""},
	} {
		if got := strings.Join(notes(path, c.ids...), "\n"); got != c.notes {
			t.Errorf("of %v the report says %q", c.ids, got)
		}
	}
	path = acceptedUntil(t, time.Now().Add(-48*time.Hour))
	if got := notes(path, "CVE-2021-44228", "CVE-2021-44228"); len(got) != 1 || !strings.HasPrefix(got[0], "Acceptance of CVE-2021-44228 ended on ") || !strings.HasSuffix(got[0], ": it counts again, on 2 assets.") {
		t.Errorf("of one that is over the report says %q", got)
	}
}

// TestAcceptedFilesAreChecked before a run begins, with all else.
func TestAcceptedFilesAreChecked(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "accepted.toml")
	if err := os.WriteFile(bad, []byte("[[accept]]\nid = \"CVE-2021-4\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, fmt.Sprintf("[step.vuln]\ncommand = [\"true\"]\n[step.assess]\naccepted = [%q]\nvex = [\"/does/not/exist.json\"]\n", bad))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Check(quiet)
	for _, want := range []string{bad + ":2: accept[0].id: is no CVE", bad + ":1: accept[0].until: is missing", "cannot read /does/not/exist.json"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := load(t, "[step.vuln]\ncommand = [\"true\"]\n[step.assess]\ncommand = [\"true\"]\naccepted = [\"x\"]\n"); err == nil || !strings.Contains(err.Error(), "step.assess.accepted: says nothing beside command") {
		t.Errorf("beside a command: %v", err)
	}
	if _, err := load(t, "[step.vuln]\ncommand = [\"true\"]\n[step.assess]\nvex = [\"\"]\n"); err == nil || !strings.Contains(err.Error(), "step.assess.vex: has an empty path") {
		t.Errorf("an empty path: %v", err)
	}
}
