// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"testing"

	"github.com/picketd/picket/agent/findings"
)

// TestFiguresAndDigest: they are over all findings, in whatever order.
func TestFiguresAndDigest(t *testing.T) {
	t.Parallel()
	a := findings.Finding{ID: "A", Severity: "high", CVSS: 7.1, Location: "x"}
	b := findings.Finding{ID: "B", Severity: "low"}
	one, two := FactsOf(findings.Report{Findings: []findings.Finding{a, b}}), FactsOf(findings.Report{Findings: []findings.Finding{b, a}})
	if one.Digest != two.Digest || one.MaxCVSS != 7.1 || one.High != 1 || one.Low != 1 || one.Findings[0].ID != "A" {
		t.Errorf("%+v and %+v", one, two)
	}
	b.Location = "y"
	if FactsOf(findings.Report{Findings: []findings.Finding{a, b}}).Digest == one.Digest {
		t.Error("another place is the same")
	}
	b.Location = "https://h/y?q=1"
	first := FactsOf(findings.Report{Findings: []findings.Finding{a, b}}).Digest
	b.Location = "https://h/y?q=2"
	if FactsOf(findings.Report{Findings: []findings.Finding{a, b}}).Digest != first {
		t.Error("another query is another place")
	}
	if f := FactsOf(findings.Report{Findings: []findings.Finding{{ID: "x", Severity: "unknown", Vector: "AV:N"}}}); f.sentence() != "1 finding, 1 of unknown severity, 1 with a CVSS vector that cannot be read" {
		t.Errorf("a vector that cannot be read: %s", f.sentence())
	}
	if f := FactsOf(findings.Report{}); f.Findings == nil || f.Count != 0 || f.sentence() != "nothing found" {
		t.Errorf("of nothing: %+v", f)
	}
}

// TestIntelligenceCountsWhatItFinds: what it finds graver counts as that, and what nobody had found before counts too.
func TestIntelligenceCountsWhatItFinds(t *testing.T) {
	t.Parallel()
	medium := findings.Finding{ID: "CVE-2020-0001", Severity: "medium", CVSS: 5}
	e := Evidence{Figures: Figures{Count: 1, Medium: 1}, Findings: []findings.Finding{medium}}
	e.take(IntelFacts{Findings: []findings.Finding{{ID: "CVE-2020-0001", Severity: "high"}, {ID: "x", Severity: "unknown"}}})
	if e.Count != 2 || e.Medium != 0 || e.High != 1 || e.Unknown != 1 || len(e.Findings) != 2 {
		t.Errorf("the figures are %+v", e.Figures)
	}
}
