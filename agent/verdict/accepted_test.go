// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// TestPlaces are what was written, in little room.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for text, all := range map[Places][]int{"": nil, "0": {0}, "0-1": {0, 1}, "0,2-4,9": {0, 2, 3, 4, 9}} {
		var got []int
		for n := range text.All() {
			got = append(got, int(n))
		}
		if PlacesOf(all) != text || !slices.Equal(got, all) {
			t.Errorf("%v is written %q, and %q is read %v", all, PlacesOf(all), text, got)
		}
	}
}

// TestAcceptanceTakesOnlyWhatListedFindingsExplain: what a program says itself, and what may be true of findings that are not listed,
// counts as before.
func TestAcceptanceTakesOnlyWhatListedFindingsExplain(t *testing.T) {
	t.Parallel()
	const listed = `{"id": "CVE-2021-44228", "severity": "critical", "cvss": 10}, {"id": "CVE-2020-0001", "severity": "low", "cvss": 2}`
	vuln := func(more string) string { return `{"findings": [` + listed + `]` + more + `}` }
	for _, c := range []struct{ vuln, intel, condition, says string }{
		{vuln(""), "", "max_cvss >= 9", "no high risk: 1 finding, CVSS 2; 1 accepted (CVE-2021-44228)"},
		{vuln(""), "", "critical > 0 || any(findings, .cvss == 10) || count > 1", "no high risk"},
		{vuln(""), "", "low == 1 && count == 1", "high risk: low == 1 (low is 1); count == 1 (count is 1); 1 accepted (CVE-2021-44228)"},
		{vuln(`, "kev_ids": ["CVE-2021-44228"]`), "", "kev", "no high risk"},
		{vuln(`, "kev_ids": ["CVE-2021-44228", "CVE-2019-0001"]`), "", "kev", "high risk: kev"},
		{vuln(`, "kev": true`), "", "kev", "high risk: kev"},
		{vuln(`, "max_cvss": 10`), "", "max_cvss >= 9", "no high risk"},
		{vuln(`, "count": 3`), "", "max_cvss >= 9", "high risk: max_cvss >= 9 (max_cvss is 10)"},
		{vuln(`, "critical": 2`), "", "critical > 0", "high risk: critical > 0 (critical is 1)"},
		{vuln(`, "epss": 0.9`), "", "epss > 0.5", "high risk: epss > 0.5 (epss is 0.9)"},
		{vuln(""), `{"kev": true, "kev_ids": ["CVE-2021-44228"], "unchecked": 0}`, "kev", "no high risk"},
		{vuln(""), `{"kev": true, "kev_ids": ["CVE-2021-44228", "CVE-2019-0001"]}`, "kev", "high risk: kev (kev is true, CVE-2019-0001)"},
		{vuln(""), `{"kev": true}`, "kev", "high risk: kev"},
		{vuln(""), `{"max_cvss": 9.5}`, "max_cvss >= 9", "no high risk"},
		{vuln(""), `{"critical": 2}`, "max_cvss >= 9", "high risk: max_cvss >= 9 (max_cvss is 10)"},
		{vuln(""), `{"epss": 0.9, "epss_id": "CVE-2021-44228", "findings": [{"id": "CVE-2021-44228", "severity": "critical", "cvss": 10, "epss": 0.9}]}`, "epss > 0.5", "no high risk"},
		{vuln(""), `{"epss": 0.9, "epss_id": "CVE-2021-44228", "findings": [{"id": "CVE-2021-44228", "severity": "critical", "epss": 0.9}, {"id": "CVE-2020-0001", "severity": "low", "epss": 0.7}]}`, "epss > 0.5", "high risk: epss > 0.5 (epss is 0.7 of CVE-2020-0001)"},
		{vuln(""), `{"epss": 0.9}`, "epss > 0.5", "high risk: epss > 0.5 (epss is 0.9)"},
		{vuln(""), `{"findings": [{"id": "CVE-2022-0001", "severity": "critical", "cvss": 9.8}]}`, "max_cvss >= 9", "high risk: max_cvss >= 9 (max_cvss is 9.8)"},
	} {
		own, err := OwnVuln(Record{State: client.StateVulnCheckDone, Facts: json.RawMessage(c.vuln)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, facts := range []json.RawMessage{own.Facts, json.RawMessage(c.vuln)} { // as recorded here, and by another agent
			ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: facts}}}
			if c.intel != "" {
				ticket.Steps[client.StepIntel] = client.Step{Facts: json.RawMessage(c.intel)}
			}
			if said := decided(t, ticket, c.condition, "CVE-2021-44228").Summary; !strings.HasPrefix(said, c.says) {
				t.Errorf("%s, %s, %s: %q, want %q", facts, c.intel, c.condition, said, c.says)
			}
		}
	}
}

// decided decides a ticket in which the findings with these ids are accepted.
func decided(t *testing.T, ticket client.Ticket, condition string, ids ...string) Record {
	t.Helper()
	e, err := EvidenceOf(ticket)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCondition(condition, true)
	if err != nil {
		t.Fatal(err)
	}
	a := &Accepted{Files: []AcceptedFile{{File: "/etc/picket/accepted.toml", Digest: "d"}}}
	var at []int
	for i, f := range e.Findings {
		if slices.Contains(ids, f.ID) {
			at = append(at, i)
			a.Risks = append(a.Risks, AcceptedRisk{ID: f.ID, At: PlacesOf([]int{i}), Reason: "not reachable", By: "security", Until: "2027-01-31", Source: "f:1"})
		}
	}
	a.Count, a.At = len(at), PlacesOf(at)
	out, err := Decide(c, e, a, "")
	if err != nil {
		return Record{Summary: err.Error()}
	}
	return out
}

// TestAListThatWasCutIsNotMadeGood by accepting what is listed: what it lacks is known by its figures, and by nothing else.
func TestAListThatWasCutIsNotMadeGood(t *testing.T) {
	t.Parallel()
	all := []findings.Finding{{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}}
	for i := range 1600 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2020-%05d", i), Severity: "low", CVSS: 2, Title: strings.Repeat("t", 200)})
	}
	all = append(all, findings.Finding{ID: "odd", Severity: "info", CVSS: 9.5})
	recorded := FactsOf(findings.Report{Findings: all})
	if recorded.Omitted == 0 {
		t.Fatal("the list was not cut")
	}
	for condition, says := range map[string]string{
		"max_cvss >= 9.6":            "no high risk",
		"max_cvss >= 9":              "high risk: max_cvss >= 9 (max_cvss is 9.5)",
		"critical > 0":               "no high risk",
		"count > 1600":               "high risk: count > 1600 (count is 1601)",
		"any(findings, .cvss > 9)":   "cannot decide whether the risk is high",
		"any(findings, .cvss == 10)": "cannot decide whether the risk is high",
	} {
		facts, err := json.Marshal(recorded)
		if err != nil {
			t.Fatal(err)
		}
		ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: facts}}}
		if said := decided(t, ticket, condition, "CVE-2021-44228").Summary; !strings.HasPrefix(said, says) {
			t.Errorf("%s: %q, want %q", condition, said, says)
		}
	}
	recorded.Lacks = nil // as an earlier version recorded it
	facts, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: facts}}}
	if said := decided(t, ticket, "max_cvss >= 9.6", "CVE-2021-44228").Summary; !strings.HasPrefix(said, "high risk: max_cvss >= 9.6 (max_cvss is 10)") {
		t.Errorf("without the figures of what is lacking: %q", said)
	}
	for intel, says := range map[string]string{
		`{"kev": true, "kev_ids": ["CVE-2021-44228"], "unchecked": 0, "omitted_figures": {"kev": false, "epss": 0}}`: "no high risk",
		`{"kev": true, "kev_ids": ["CVE-2021-44228"], "unchecked": 0, "omitted_figures": {"kev": true, "epss": 0}}`:  "high risk: kev",
		`{"kev": true, "kev_ids": ["CVE-2021-44228"], "unchecked": 0}`:                                               "high risk: kev",
		// It counts more than anybody lists.
		`{"kev": true, "kev_ids": ["CVE-2021-44228"], "count": 5000, "unchecked": 0, "omitted_figures": {"kev": false, "epss": 0}}`: "high risk: kev",
	} {
		lacks := figuresOf(all[len(recorded.Findings):])
		recorded.Lacks = &lacks
		if facts, err = json.Marshal(recorded); err != nil {
			t.Fatal(err)
		}
		ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: facts}, client.StepIntel: {Facts: json.RawMessage(intel)}}}
		if said := decided(t, ticket, "kev", "CVE-2021-44228").Summary; !strings.HasPrefix(said, says) {
			t.Errorf("%s: %q, want %q", intel, said, says)
		}
	}
}

// TestWhyNamesWhatIsAccepted, by whom and until when; and what was accepted is read again from the record alone.
func TestWhyNamesWhatIsAccepted(t *testing.T) {
	t.Parallel()
	ticket := assessed(t, "max_cvss >= 9", findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}, findings.Finding{ID: "CVE-2020-0001", Severity: "low", CVSS: 2})
	out := decided(t, ticket, "max_cvss >= 9", "CVE-2021-44228")
	ticket.Steps[client.StepAssess] = client.Step{State: out.State, Facts: out.Facts, Summary: out.Summary}
	x := Why(ticket)
	words := strings.Join(x.Words, "\n")
	for _, want := range []string{
		"The risk is not high", "1 finding is accepted, and did not count:\n  CVE-2021-44228: not reachable (by security, until 2027-01-31; f:1)",
		"asked for in /etc/picket/accepted.toml (digest d)", "\n  CVE-2020-0001 low CVSS 2",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in\n%s", want, words)
		}
	}
	if len(x.Findings) != 1 || x.Findings[0].ID != "CVE-2020-0001" {
		t.Errorf("the decision rests on %+v", x.Findings)
	}
	e, err := CountedOf(ticket)
	at, a := AcceptanceOf(ticket)
	if err != nil || e.Accepted != 1 || e.Count != 1 || a.Count != 1 || at[0].Reason != "not reachable" || len(at) != 1 {
		t.Errorf("%+v, %v, %+v", at, err, e.Figures)
	}
	if _, a := AcceptanceOf(client.Ticket{Steps: map[string]client.Step{client.StepAssess: {Facts: json.RawMessage(`{"accepted": {"count": 1, "at": "0"}}`)}}}); a != nil {
		t.Error("what a command says that decides itself is taken for an acceptance")
	}
}

// TestAnOtherAcceptanceIsAnotherDigest: else a finding whose acceptance has ended would not be told again.
func TestAnOtherAcceptanceIsAnotherDigest(t *testing.T) {
	t.Parallel()
	ticket := assessed(t, "kev", findings.Finding{ID: "A"}, findings.Finding{ID: "B"})
	e, err := EvidenceOf(ticket)
	if err != nil {
		t.Fatal(err)
	}
	a, b := e.Without(&Accepted{Count: 1, At: "0"}), e.Without(&Accepted{Count: 1, At: "1"})
	if a.Digest == e.Digest || a.Digest == b.Digest || a.Has(e) || !e.Has(a) || a.Has(b) {
		t.Errorf("%s, %s, %s", e.Digest, a.Digest, b.Digest)
	}
}

// TestWhatAProgramCountsBesideALongListIsNotKnown: of its further findings only the number is.
func TestWhatAProgramCountsBesideALongListIsNotKnown(t *testing.T) {
	t.Parallel()
	all := []string{`{"id": "CVE-2021-44228", "severity": "critical", "cvss": 10}`}
	for i := range 1600 {
		all = append(all, fmt.Sprintf(`{"id": "CVE-2020-%05d", "severity": "low", "title": %q}`, i, strings.Repeat("t", 200)))
	}
	for more, says := range map[string]string{"": "no high risk", `, "count": 5000`: "high risk: max_cvss >= 9 (max_cvss is 10)"} {
		own, err := OwnVuln(Record{State: client.StateVulnCheckDone, Facts: json.RawMessage(`{"findings": [` + strings.Join(all, ", ") + `]` + more + `}`)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: own.Facts}}}
		if said := decided(t, ticket, "max_cvss >= 9", "CVE-2021-44228").Summary; !strings.HasPrefix(said, says) {
			t.Errorf("with %q: %q, want %q", more, said, says)
		}
	}
}
