// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"

	"github.com/picketd/picket/sockapi/client"
)

func TestFactsOfIntelAreCheckedBeforeTheyAreRecorded(t *testing.T) {
	t.Parallel()
	j := jobOn(t, "")
	for text, want := range map[string]string{
		`{"kev": "yes"}`:                  `"kev" must be true or false`,
		`{"kev": null, "epss": null}`:     `"kev" is null: a command that could not ask fails, or leaves it out`,
		`{"KEV": true}`:                   `"KEV" in facts must be written "kev"`,
		`{"epss": "0.9"}`:                 `"epss" must be a number from 0 to 1`,
		`{"epss": 90}`:                    `"epss" is 90, and must be a number from 0 to 1`,
		`{"findings": {}}`:                "cannot read the output as a list of findings",
		`{"findings": [{"cvss": 1}]}`:     "cannot read the output as a list of findings: findings[0]: it has no id",
		`{"kev": true, "kev_ids": "CVE"}`: `"kev_ids" must be a list of texts`,
		`{"kev": true, "kev": false}`:     `"kev" in facts stands there twice`,
	} {
		var err error
		if j.a.plan.intel, err = newCommand([]string{"printf", "%s", fmt.Sprintf(`{"state": "VULN_CHECK_DONE", "facts": %s}`, text)}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.intel(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// longList has so many findings that the facts have no room for the last of them, a given one.
func longList(last findings.Finding) []findings.Finding {
	var all []findings.Finding
	for i := range 2500 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2019-%05d", i), Severity: "low", CVSS: 1, Title: strings.Repeat("t", 180)})
	}
	return append(all, last)
}

// TestNothingIsLostBehindTheEndOfAList: what a scanner says of the least severe counts, and a condition that looks for it in
// the list does not say no.
func TestNothingIsLostBehindTheEndOfAList(t *testing.T) {
	t.Parallel()
	exploited := findings.Finding{ID: "CVE-2020-0009", Severity: "info", KEV: true, EPSS: 0.9}
	for condition, want := range map[string]string{
		"":                                    "high risk: kev (kev is true); epss >= 0.5 (epss is 0.9)",
		"any(findings, .kev)":                 "cannot decide whether the risk is high (step.assess.high_risk): the list of findings is cut: it holds ",
		"max_cvss > 9 or any(findings, .kev)": "cannot decide ",
		"none(findings, .kev)":                "cannot decide ",
		"len(findings) > 2500":                "cannot decide ",
		"count($env['findings']) > 1":         "cannot decide ",
		"kev || any(findings, .kev)":          "high risk: kev (kev is true)",
		"any(findings, .severity == 'low')":   "high risk: any(findings, ",
		"max_cvss > 9 && any(findings, .kev)": "no high risk: 2501 findings, 0 critical, 0 high, CVSS up to 1",
	} {
		config := ""
		if condition != "" {
			config = fmt.Sprintf("[step.assess]\nhigh_risk = %q\n", condition)
		}
		j := jobOn(t, config, longList(exploited)...)
		got, err := j.assess(t.Context())
		said := got.Summary
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("%q: %s, want %s", condition, said, want)
		}
		if err != nil {
			continue
		}
		j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts}
		if words := strings.Join(verdict.Why(j.ticket).Words, "\n"); !strings.Contains(words, " of 2501 findings are not in it") {
			t.Errorf("%q is explained without what is not in the list:\n%s", condition, words)
		}
	}
	// Whether intelligence is asked may not be decided by what is not seen.
	j := jobOn(t, "[step.intel]\ncommand = [\"x\"]\nwhen = \"any(findings, .severity == 'info')\"\n", longList(exploited)...)
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		t.Fatal(err)
	}
	if needed, _, err := j.needsIntel(e); !needed || err != nil {
		t.Errorf("intelligence is needed: %v, %v", needed, err)
	}
}

// TestWhatLooksAtFindingsIsNotDecidedOverCVEsThatNobodyAskedFor: any of the listed findings may be one of those.
func TestWhatLooksAtFindingsIsNotDecidedOverCVEsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for condition, decided := range map[string]bool{
		"any(findings, .kev)":                                       false,
		"any(findings, .severity == 'high' and .epss > 0.5)":        false,
		"count(findings, .kev) >= 1":                                false,
		"none(findings, .kev)":                                      false,
		"any(findings, .severity == 'critical' and .kev)":           true, // there is none
		"any(findings, .severity == 'high') || any(findings, .kev)": true,
		"any(findings, .severity == 'high')":                        true,
	} {
		j := jobOn(t, fmt.Sprintf("[step.assess]\nhigh_risk = %q\n", condition), findings.Finding{ID: "CVE-2024-0001", Severity: "high", CVSS: 7.5})
		for unchecked, want := range map[string]bool{`{"unchecked": 1}`: decided, `{"unchecked": 0}`: true} {
			j.ticket.Steps[client.StepIntel] = client.Step{State: client.StateVulnCheckDone, Facts: []byte(unchecked)}
			if _, err := j.assess(t.Context()); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "1 CVEs could not be asked for") {
				t.Errorf("%s, with %s: %v", condition, unchecked, err)
			}
		}
	}
}
