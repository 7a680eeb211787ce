// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// assessed is a ticket whose step vuln found these, and what was decided of it.
func assessed(t *testing.T, condition string, all ...findings.Finding) client.Ticket {
	t.Helper()
	facts, err := plain.JSON(FactsOf(findings.Report{Findings: all}))
	if err != nil {
		t.Fatal(err)
	}
	ticket := client.Ticket{ID: "web-01/w48", Asset: "web-01", Task: "w48", Steps: map[string]client.Step{client.StepVuln: {Facts: facts}}}
	e, err := EvidenceOf(ticket)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCondition(condition, true)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Decide(c, e, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	ticket.Steps[client.StepAssess] = client.Step{State: out.State, Facts: out.Facts, Summary: out.Summary}
	return ticket
}

// TestAssessRefersToFindings: what vuln has recorded is not recorded again, and is shown all the same.
func TestAssessRefersToFindings(t *testing.T) {
	t.Parallel()
	title := strings.Repeat("t", 200)
	var all []findings.Finding
	for i := range 30 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2020-%04d", i%15), Severity: "high", CVSS: 7, Title: title, Package: fmt.Sprint("p", i)})
	}
	ticket := assessed(t, "max_cvss >= 7", all...)
	if facts := ticket.Steps[client.StepAssess].Facts; strings.Contains(string(facts), title) || len(facts) > 1<<10 {
		t.Errorf("assess copies findings: %d bytes", len(facts))
	}
	x := Why(ticket)
	if len(x.Findings) != shownFindings || x.Findings[1].Package == x.Findings[0].Package || x.Findings[1].Title != title {
		t.Errorf("it is explained with %+v", x.Findings)
	}
	if words := strings.Join(x.Words, "\n"); !strings.Contains(words, "CVE-2020-0000 high CVSS 7 p0") || !strings.Contains(words, "CVE-2020-0000 high CVSS 7 p15") {
		t.Errorf("it is explained as\n%s", words)
	}
}

// TestReferencesOfAnEarlierVersion: it wrote the findings themselves, and an order may change.
func TestReferencesOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	e := Evidence{Findings: []findings.Finding{{ID: "A"}, {ID: "B", Title: "b"}}}
	var refs []Reference
	if err := json.Unmarshal([]byte(`[{"id": "B", "severity": "low"}, {"id": "B", "at": 7}, {"id": "B", "at": -1}, {"id": "C", "at": 1}]`), &refs); err != nil {
		t.Fatal(err)
	}
	got := e.referred(refs)
	for _, f := range got {
		if f.Title != "b" {
			t.Errorf("it refers to %+v", f)
		}
	}
	if len(got) != 3 {
		t.Errorf("it refers to %+v", got)
	}
}
