// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/picketd/picket/agent/accept"
	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// jobOn is a job on a ticket whose vuln step has these findings, with what a configuration says beside that step.
func jobOn(t *testing.T, config string, all ...findings.Finding) *job {
	t.Helper()
	c, err := load(t, "[step.vuln]\ncommand = [\"x\"]\n"+config)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := c.compile(nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	k, err := openCatalogues(c.Step.Intel, time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), quiet)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := accept.Open(c.Step.Assess.Accepted, c.Step.Assess.VEX)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := plain.JSON(verdict.FactsOf(findings.Report{Findings: all}))
	if err != nil {
		t.Fatal(err)
	}
	return &job{
		a: &Agent{config: c, plan: p, files: &files{&shelf[catalogues]{read: k}, &shelf[*accept.List]{read: accepted}}}, lease: &lease.Lease{}, log: quiet, taken: time.Now(),
		ticket: client.Ticket{
			CreatedAt: time.Now().Add(-time.Minute), UpdatedAt: time.Now(),
			ID: "web-01/w48", Asset: "web-01", Task: "w48", State: client.StateVulnCheckDone,
			Steps: map[string]client.Step{client.StepVuln: {State: client.StateVulnCheckDone, Facts: facts}},
		},
	}
}

func decoded[T any](t *testing.T, facts json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(facts, &v); err != nil {
		t.Fatalf("%s: %v", facts, err)
	}
	return v
}

func TestTheRiskIsDecidedFromTheFindings(t *testing.T) {
	t.Parallel()
	critical := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	low := findings.Finding{ID: "CVE-2020-0001", Severity: "low", CVSS: 2.1}
	scoreless := findings.Finding{ID: "exposed-panel", Severity: "critical"}
	exploited := findings.Finding{ID: "CVE-2020-0002", Severity: "medium", CVSS: 5, KEV: true}
	likely := findings.Finding{ID: "CVE-2020-0003", Severity: "medium", CVSS: 5, EPSS: 0.7}
	for _, c := range []struct {
		condition string
		all       []findings.Finding
		high      bool
		summary   string
	}{
		{"", nil, false, "no high risk: nothing found"},
		{"", []findings.Finding{low}, false, "no high risk: 1 finding, CVSS 2.1"},
		{"", []findings.Finding{low, critical}, true, "high risk: max_cvss >= 9 (max_cvss is 10)"},
		{"", []findings.Finding{scoreless}, true, "high risk: max_cvss >= 9 (max_cvss is 9, from the severity alone)"},
		{"", []findings.Finding{{ID: "x", Severity: "unknown"}}, false, "no high risk: 1 finding, 1 of unknown severity"},
		{"", []findings.Finding{exploited}, true, "high risk: kev (kev is true)"},
		{"", []findings.Finding{likely}, true, "high risk: epss >= 0.5 (epss is 0.7)"},
		{"critical + high > 1", []findings.Finding{critical}, false, ""},
		{"critical > 0 and low > 0", []findings.Finding{critical, low}, true, "high risk: critical > 0 (critical is 1); low > 0 (low is 1)"},
		{"count > 1", []findings.Finding{critical, low}, true, "high risk: count > 1 (count is 2)"},
		{"count(findings, .cvss > 5) > 1", []findings.Finding{critical, low}, false, ""},
		{"any(findings, .id startsWith 'CVE-2021' && .severity == 'critical')", []findings.Finding{low, critical}, true, ""},
		{"not (max_cvss < 9)", []findings.Finding{critical}, true, ""},
		{"asset == 'web-01' && max_cvss > 1", []findings.Finding{low}, true, ""},
		{"unknown > 0", []findings.Finding{{ID: "x", Severity: "unknown"}}, true, ""},
	} {
		config := ""
		if c.condition != "" {
			config = fmt.Sprintf("[step.assess]\nhigh_risk = %q\n", c.condition)
		}
		got, err := jobOn(t, config, c.all...).assess(t.Context())
		state := client.StateFinished
		if c.high {
			state = client.StateHighRiskFound
		}
		f := decoded[verdict.AssessFacts](t, got.Facts)
		if err != nil || got.State != state || f.HighRisk != c.high || c.summary != "" && got.Summary != c.summary || len(f.Parts) == 0 {
			t.Errorf("%q over %v: %+v, %v", c.condition, c.all, got, err)
		}
	}
	if _, err := jobOn(t, "[step.assess]\nhigh_risk = \"findings[0].cvss > 9\"\n").assess(t.Context()); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot decide whether the risk is high (step.assess.high_risk): index out of range") {
		t.Errorf("of no findings: %v", err)
	}
}

// TestTheFiguresAreThoseOfAllSteps: what a command for intelligence finds counts, and what it or a scanner says of itself, where
// that is graver. Nothing gets less grave by it.
func TestTheFiguresAreThoseOfAllSteps(t *testing.T) {
	t.Parallel()
	medium := findings.Finding{ID: "CVE-2020-0001", Severity: "medium", CVSS: 5}
	for intel, want := range map[string]string{
		`{"findings": [{"id": "CVE-2021-44228", "severity": "critical", "cvss": 10}]}`: "high risk: max_cvss >= 9 (max_cvss is 10)",
		`{"findings": [{"id": "CVE-2020-0001", "severity": "critical"}]}`:              "high risk: max_cvss >= 9 (max_cvss is 9, from the severity alone)",
		`{"findings": [{"id": "CVE-2020-0001", "severity": "low", "cvss": 1}]}`:        "no high risk: 1 finding, CVSS 5",
		`{"findings": [{"id": "CVE-2020-0001", "severity": "medium", "kev": true}]}`:   "high risk: kev (kev is true)",
		`{"max_cvss": 9.8}`:              "high risk: max_cvss >= 9 (max_cvss is 9.8, from the severity alone)",
		`{"top_cvss": 9.8}`:              "high risk: max_cvss >= 9 (max_cvss is 9.8)",
		`{"critical": 2}`:                "high risk: max_cvss >= 9 (max_cvss is 9, from the severity alone)",
		`{"critical": 2, "max_cvss": 8}`: "no high risk: 3 findings, 2 critical, 0 high, CVSS up to 5",
		`{"error": "no answer"}`:         "its facts tell of an error: no answer",
		`{"kev_ids": ["CVE-2020-0001"]}`: "high risk: kev (kev is true, CVE-2020-0001)",
		`{"kev": false, "epss": 0.1}`:    "no high risk: 1 finding, CVSS 5",
		`{"max_cvss": "9.8"}`:            `"max_cvss" must be a number from 0 to 10`,
		`{"MAX_CVSS": 9.8}`:              `must be written "max_cvss"`,
		`{"kev_ids": "CVE-2020-0001"}`:   `"kev_ids" must be a list of texts`,
	} {
		j := jobOn(t, "", medium)
		j.ticket.Steps[client.StepIntel] = client.Step{State: client.StateVulnCheckDone, Facts: json.RawMessage(intel)}
		if got, err := j.assess(t.Context()); got.Summary != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v, want %s", intel, got.Summary, err, want)
		}
	}

	// The same of what the step vuln says of itself, in its own form or by another agent.
	for facts, want := range map[string]string{
		`{"findings": [], "kev": true}`:                  "kev is true",
		`{"findings": [], "max_cvss": 9.1}`:              "max_cvss is 9.1",
		`{"findings": [], "kev_ids": ["CVE-2020-0001"]}`: "kev is true",
		`{"findings": [], "critical": 2}`:                "critical is 2",
		`{"findings": [], "critical": 1}`:                "max_cvss is 9, from the severity alone",
	} {
		config := "[step.assess]\nhigh_risk = \"kev || max_cvss >= 9 || critical > 1\"\n"
		own, err := verdict.OwnVuln(verdict.Record{State: client.StateVulnCheckDone, Facts: json.RawMessage(facts)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, recorded := range []json.RawMessage{own.Facts, json.RawMessage(facts)} {
			j := jobOn(t, config)
			j.ticket.Steps[client.StepVuln] = client.Step{State: client.StateVulnCheckDone, Facts: recorded}
			if got, err := j.assess(t.Context()); err != nil || !strings.Contains(got.Summary, want) {
				t.Errorf("%s: %q, %v", recorded, got.Summary, err)
			}
		}
	}
}

// TestEveryCVEIsAskedFor: however many there are. Where one cannot be, what looks at kev or epss is not decided, unless it could
// change nothing.
func TestEveryCVEIsAskedFor(t *testing.T) {
	t.Parallel()
	kev := filepath.Join(t.TempDir(), "kev.json")
	catalogue := `{"catalogVersion": "2026.11.27", "dateReleased": "2026-11-27T17:00:00.0000Z", "count": 1, "vulnerabilities": [{"cveID": "CVE-2020-13001"}]}`
	if err := os.WriteFile(kev, []byte(catalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[step.intel]\nkev = %q\n", kev)
	low := func(n int) (all []findings.Finding) {
		for i := range n {
			all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2020-%05d", 2*i+1), Severity: "low", CVSS: 1, Title: strings.Repeat("t", 100)})
		}
		return all
	}
	j := jobOn(t, config, low(6502)...)
	got, err := j.intel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j.ticket.Steps[client.StepIntel] = client.Step{State: got.State, Facts: got.Facts}
	if got, err := j.assess(t.Context()); err != nil || got.Summary != "high risk: kev (kev is true, CVE-2020-13001)" {
		t.Errorf("behind 6,500 others: %q, %v", got.Summary, err)
	}

	many := low(4000)
	for _, c := range []struct{ condition, says string }{
		{"max_cvss >= 9 || kev", "could not be asked for, and the condition looks at kev or epss: write it over max_cvss, count"},
		{"epss > 0.9", "could not be asked for"},
		{"any(findings, .cvss > 9)", "the condition looks at each: write it over max_cvss, count"},
		{"count > 1 || kev", ""},
		{"max_cvss >= 9 && kev", ""},
		{"max_cvss >= 9", ""},
	} {
		j := jobOn(t, fmt.Sprintf("[step.assess]\nhigh_risk = %q\n", c.condition), many...)
		for name, facts := range map[string]string{"the catalogues": `{"unchecked": 5}`, "a command": `{}`} {
			j.ticket.Steps[client.StepIntel] = client.Step{State: client.StateVulnCheckDone, Facts: json.RawMessage(facts)}
			if _, err := j.assess(t.Context()); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, with %s: %v", c.condition, name, err)
			}
		}
		j.ticket.Steps[client.StepIntel] = client.Step{State: client.StateVulnCheckDone, Facts: json.RawMessage(`{"unchecked": 0}`)}
		if _, err := j.assess(t.Context()); err != nil && !strings.Contains(err.Error(), "looks at each") {
			t.Errorf("%s, with a command that asked for all: %v", c.condition, err)
		}
	}
}

// TestACatalogueThatChangesIsReadAgain: a run may last a night. One that cannot be read does not replace the one before.
func TestACatalogueThatChangesIsReadAgain(t *testing.T) {
	t.Parallel()
	kev := filepath.Join(t.TempDir(), "kev.json")
	write := func(text string) {
		if err := os.WriteFile(kev+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(kev+".new", kev); err != nil {
			t.Fatal(err)
		}
	}
	catalogue := func(id string) string {
		return `{"dateReleased": "2026-11-27T17:00:00.0000Z", "count": 1, "vulnerabilities": [{"cveID": "` + id + `"}]}`
	}
	write(catalogue("CVE-2020-0001"))
	f, err := openFiles(Config{Step: StepsConfig{Intel: IntelConfig{KEV: kev}}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	s := f.intel
	if !s.current().kev.Has("CVE-2020-0001") {
		t.Fatal(err)
	}
	write(catalogue("CVE-2020-10002"))
	if k := s.current().kev; !k.Has("CVE-2020-10002") || k.Has("CVE-2020-0001") {
		t.Error("the new one is not read")
	}
	write("half of {")
	if !s.current().kev.Has("CVE-2020-10002") {
		t.Error("half a catalogue has replaced a whole one")
	}
}

// TestIntelligenceIsAskedWhereItIsNeeded: of the CVEs, also those among the aliases and those for which the facts had no room.
func TestIntelligenceIsAskedWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kev, epss := filepath.Join(dir, "kev.json"), filepath.Join(dir, "epss.csv.gz")
	catalogue := `{"catalogVersion": "2026.11.27", "dateReleased": "2026-11-27T17:00:00.0000Z", "count": 1, "vulnerabilities": [{"cveID": "CVE-2020-0009"}]}`
	if err := os.WriteFile(kev, []byte(catalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(epss)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	fmt.Fprint(z, "#model_version:v2025.03.14,score_date:2026-11-01T12:55:00Z\ncve,epss,percentile\nCVE-2020-0001,0.91,0.99\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[step.intel]\nkev = %q\nepss = %q\nwhen = \"max_cvss >= 7\"\n", kev, epss)

	j := jobOn(t, config, findings.Finding{ID: "CVE-2020-0001", Severity: "low", CVSS: 3})
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		t.Fatal(err)
	}
	if needed, skipped, err := j.needsIntel(e); needed || skipped != "max_cvss >= 7 does not hold" || err != nil {
		t.Errorf("below the condition: %v, %q, %v", needed, skipped, err)
	}
	got, err := j.assess(t.Context())
	if f := decoded[verdict.AssessFacts](t, got.Facts); err != nil || f.Intel.Used || f.Intel.Skipped != "max_cvss >= 7 does not hold" || f.HighRisk {
		t.Errorf("assessed without: %s, %v", got.Facts, err)
	}

	// So many that the facts have no room for the last, which is known to be exploited.
	all := []findings.Finding{{ID: "GHSA-x", Severity: "high", CVSS: 7.5, Aliases: []string{"cve-2020-0001"}}}
	for i := range 2500 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2019-%05d", i), Severity: "low", CVSS: 1, Title: strings.Repeat("t", 180)})
	}
	all = append(all, findings.Finding{ID: "CVE-2020-0009", Severity: "info"})
	j = jobOn(t, config, all...)
	vuln := decoded[verdict.VulnFacts](t, j.ticket.Steps[client.StepVuln].Facts)
	if vuln.Omitted == 0 || vuln.Count != len(all) || vuln.Low != 2500 || len(j.ticket.Steps[client.StepVuln].Facts) > verdict.MaxFacts {
		t.Fatalf("%d findings, %d left out, in %d bytes", vuln.Count, vuln.Omitted, len(j.ticket.Steps[client.StepVuln].Facts))
	}
	got, err = j.intel(t.Context())
	facts := decoded[verdict.IntelFacts](t, got.Facts)
	if err != nil || got.State != client.StateVulnCheckDone || !facts.KEV || facts.EPSS != 0.91 || facts.EPSSID != "CVE-2020-0001" ||
		facts.KEVDate != "2026-11-27" || facts.EPSSDate != "2026-11-01" || fmt.Sprint(facts.KEVIDs, facts.Old) != "[CVE-2020-0009] [epss]" ||
		facts.Findings[0].EPSS != 0.91 || len(got.Facts) > verdict.MaxFacts {
		facts.Findings = nil
		t.Errorf("intel: %+v, %v", facts, err)
	}
	j.ticket.Steps[client.StepIntel] = client.Step{State: client.StateVulnCheckDone, Facts: got.Facts}
	got, err = j.assess(t.Context())
	if want := "high risk: kev (kev is true, CVE-2020-0009); epss >= 0.5 (epss is 0.91 of CVE-2020-0001)"; err != nil || got.Summary != want {
		t.Errorf("assessed: %s, %v", got.Summary, err)
	}
	j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts, Summary: got.Summary}
	words := strings.Join(verdict.Why(j.ticket).Words, "\n")
	for _, want := range []string{"yes  kev (kev is true, CVE-2020-0009)", "KEV of 2026-11-27, EPSS of 2026-11-01.", "It was old then: epss."} {
		if !strings.Contains(words, want) {
			t.Errorf("it is explained without %q:\n%s", want, words)
		}
	}

	c := IntelConfig{EPSS: epss, MaxAge: 1}
	if _, err := openCatalogues(c, time.Now(), quiet); err == nil || !strings.Contains(err.Error(), "is older than max_age") {
		t.Errorf("an old catalogue: %v", err)
	}
}

func TestANotificationFitsTheAPIsLimits(t *testing.T) {
	t.Parallel()
	var all []findings.Finding
	for i := range 900 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2019-%05d", i), Severity: "high", CVSS: 7.5, Title: strings.Repeat("漏", 50) + "\x1b"})
	}
	all = append(all, findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10})
	for name, config := range map[string]string{
		"default":  "",
		"long":     "[notification]\ntitle = \"{{range .Findings}}{{.Title}}\\n{{end}}\"\ntext = \"{{range .Findings}}{{.ID}} {{.Title}}\\n{{end}}\"",
		"too long": "[notification]\ntitle = \"{{\\\"\\\"}}\"\ntext = '{{printf \"%040000d\" 1}}'",
		"short":    "[notification]\ntext = '{{.Asset}}'",
		"empty":    "[notification]\ntext = '{{\"\"}}'",
	} {
		j := jobOn(t, config, all...)
		out, err := j.assess(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j.ticket.Steps[client.StepAssess] = client.Step{State: out.State, Facts: out.Facts}
		n, err := j.notification()
		if err != nil || n.Title == "" || n.Text == "" || len(n.Title) > maxTitle || len(n.Text) > maxText || len(n.Facts) > verdict.MaxFacts ||
			strings.ContainsAny(n.Title, "\n\x1b") || strings.Contains(n.Text, "\x1b") || !utf8.ValidString(n.Title+n.Text) || n.Severity != client.SeverityCritical {
			t.Errorf("%s: %q, %d bytes, %v", name, n.Title, len(n.Text), err)
		}
		if (name == "empty" || name == "short") && strings.Contains(n.Text, "more") {
			t.Errorf("what lists nothing ends with %q", n.Text)
		}
		if name == "default" || name == "long" {
			first, last := strings.Index(n.Text, "CVE-2021-44228"), n.Text[strings.LastIndexByte(n.Text, '\n')+1:]
			var left int
			_, err := fmt.Sscanf(last, "… and %d more", &left)
			if shown := strings.Count(n.Text, "CVE-"); first < 0 || first > strings.Index(n.Text, "CVE-2019") || err != nil || shown+left != len(all) {
				t.Errorf("%s: the worst is at %d, %d are shown, and it ends with %q", name, first, shown, last)
			}
		}
		again, err := j.notification()
		if err != nil || again.Text != n.Text || string(again.Facts) != string(n.Facts) {
			t.Errorf("%s: it is not the same each time", name)
		}
	}
}

// TestACommandThatContradictsItselfHasNotDecided, unless its state says that the risk is high.
func TestACommandThatContradictsItselfHasNotDecided(t *testing.T) {
	t.Parallel()
	for out, refused := range map[string]bool{
		`{"state": "FINISHED", "facts": {"error": "no answer"}}`:        true,
		`{"state": "FINISHED", "facts": {"high_risk": true}}`:           true,
		`{"state": "FINISHED", "facts": {"high_risk": false}}`:          false,
		`{"state": "FINISHED"}`:                                         false,
		`{"state": "HIGH_RISK_FOUND", "facts": {"error": "no answer"}}`: false,
		`{"state": "HIGH_RISK_FOUND", "facts": {"high_risk": false}}`:   false,
	} {
		j := jobOn(t, fmt.Sprintf("[step.assess]\ncommand = [\"echo\", '%s']\n", out))
		if got, err := j.assess(t.Context()); (err != nil) != refused {
			t.Errorf("%s: %+v, %v", out, got, err)
		}
	}
}
