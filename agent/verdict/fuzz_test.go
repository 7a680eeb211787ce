// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// FuzzEvidence: whatever a ticket records, or a program writes, it is refused, or judged; and what intelligence adds makes nothing less
// grave.
func FuzzEvidence(f *testing.F) {
	f.Add([]byte(`{"findings":[{"id":"CVE-2021-44228","severity":"critical","cvss":10}],"max_cvss":10,"count":1,"critical":1}`), []byte(`{"findings":[{"id":"CVE-2021-44228","kev":true}],"kev":true,"epss":0.9}`))
	f.Add([]byte(`{"findings":[],"omitted":3,"unlisted":2,"omitted_cves":["CVE-2024-1"]}`), []byte(`{"unchecked":1}`))
	condition, err := NewCondition("max_cvss >= 9 || kev || epss >= 0.5", true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, vuln, intel []byte) {
		if _, err := ReadOwn(strings.NewReader(string(vuln))); err == nil && !json.Valid(vuln) {
			t.Fatalf("%q is taken for a result", vuln)
		}
		if report, err := ReadFindings(context.Background(), strings.NewReader(string(vuln))); err != nil && report.Findings != nil {
			t.Fatalf("%d findings beside %v", len(report.Findings), err)
		}
		ticket := client.Ticket{Asset: "a", Task: "t", Steps: map[string]client.Step{client.StepVuln: {Facts: vuln}}}
		before, err := EvidenceOf(ticket)
		if err != nil {
			return
		}
		ticket.Steps[client.StepIntel] = client.Step{Facts: intel}
		after, err := EvidenceOf(ticket)
		if err != nil {
			return
		}
		if after.MaxCVSS < before.MaxCVSS || after.EPSS < before.EPSS || before.KEV && !after.KEV || after.Count < before.Count {
			t.Fatalf("intelligence makes it less grave: %+v, before %+v", after.Figures, before.Figures)
		}
		record, err := Decide(condition, after, nil, "")
		if err != nil {
			return
		}
		if !json.Valid(record.Facts) {
			t.Fatalf("the facts of assess are no JSON: %q", record.Facts)
		}
		grave := after.MaxCVSS >= 9 || after.KEV || after.EPSS >= 0.5
		if grave != (record.State == client.StateHighRiskFound) {
			t.Fatalf("%+v is decided as %s", after.Figures, record.State)
		}
		_, _, _ = after.Brief(), after.Left(), Contradiction(record)
	})
}

// FuzzCondition: whatever stands as a condition, it is refused with a word, or it is true or false of any evidence.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{"max_cvss >= 9 || kev", "count > 3 and not kev", `any(findings, .package == "x")`, "1/0", "epss in 0..1", "asset matches \"(\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		c, err := NewCondition(text, true)
		if err != nil {
			if err.Error() == "" {
				t.Fatalf("%q is refused without a word", text)
			}
			return
		}
		_, _ = Decide(c, Evidence{asset: "a", task: "t"}, nil, "")
	})
}
