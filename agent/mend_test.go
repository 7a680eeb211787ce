// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// TestFixAndLinkAreShownAndSent: what mends a finding, and where more is said of it, come as far as to people.
func TestFixAndLinkAreShownAndSent(t *testing.T) {
	t.Parallel()
	const link = "https://example.com/CVE-2021-44228"
	j := jobOn(t, "[step.assess]\nhigh_risk = \"any(findings, .fixed_in != '')\"",
		findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10, Package: "log4j-core 2.14.1", FixedIn: "2.17.1", URL: link})
	out, err := j.assess(t.Context())
	if err != nil || out.State != client.StateHighRiskFound {
		t.Fatalf("%+v, %v", out, err)
	}
	j.ticket.Steps[client.StepAssess] = client.Step{State: out.State, Facts: out.Facts}
	j.ticket.Steps[client.StepIntel] = client.Step{Facts: []byte(`{"findings": [{"id": "CVE-2021-44228", "severity": "critical", "package": "log4j-core 2.14.1", "kev": true}]}`)}
	n, err := j.notification() // what a program says of a finding takes nothing away
	if err != nil || !strings.Contains(n.Text, " in log4j-core 2.14.1, fixed in 2.17.1\n  "+link) {
		t.Errorf("the text is %q, error %v", n.Text, err)
	}
	for _, facts := range []string{string(n.Facts), string(j.ticket.Steps[client.StepVuln].Facts)} {
		if !strings.Contains(facts, `"fixed_in":"2.17.1","url":"`+link+`"`) {
			t.Errorf("neither is in %s", facts)
		}
	}
	if words := strings.Join(verdict.Why(j.ticket).Words, "\n"); !strings.Contains(words, "log4j-core 2.14.1, fixed in 2.17.1 "+link) {
		t.Errorf("neither is told: %s", words)
	}
}

// TestReportThatLeavesSomethingOpenSaysSo in the summary and in the facts.
func TestReportThatLeavesSomethingOpenSaysSo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	report := `{"SchemaVersion":2,"Metadata":{"OS":{"Family":"alpine","Name":"3.9.4","EOSL":true}}}`
	if err := os.WriteFile(filepath.Join(folder, "web-01"), []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	j := jobOn(t, "")
	j.a.config.Step.Vuln = VulnConfig{Parse: "trivy"}
	var err error
	if j.a.plan.file, err = newFilePath(filepath.Join(folder, "{{.Asset}}")); err != nil {
		t.Fatal(err)
	}
	out, err := j.vuln(t.Context())
	const note = "alpine 3.9.4 is not supported any more: what was found since is not known of it"
	if err != nil || !strings.HasPrefix(out.Summary, "nothing found; "+note) || decoded[verdict.VulnFacts](t, out.Facts).Notes[0] != note {
		t.Errorf("%+v, %v", out, err)
	}
	j.ticket.Steps[client.StepVuln] = client.Step{State: out.State, Facts: out.Facts}
	if out, err = j.assess(t.Context()); err != nil || !strings.HasPrefix(out.Summary, "no high risk: nothing found; "+note) {
		t.Errorf("the verdict is %q, error %v", out.Summary, err)
	}
}
