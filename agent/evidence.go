// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// Sizes within the API's limit on facts, in bytes.
const (
	maxListed    = 384 << 10 // of the findings in the facts of vuln; those of intel may have maxAnnotated, for they grow
	maxAnnotated = 448 << 10
	maxOmitted   = 96 << 10 // of the CVEs of findings that are not listed
)

// vulnFacts are what the step vuln records beside what a command of its own says.
type vulnFacts struct {
	figures
	Digest      string             `json:"digest"`                  // of all findings: what they are and where
	Omitted     int                `json:"omitted"`                 // findings for which there was no room, the least severe
	OmittedCVEs cveSet             `json:"omitted_cves,omitempty"`  // CVEs that the listed findings do not name, as far as there was room
	OmittedIDs  []string           `json:"omitted_ids,omitempty"`   // the same, as an earlier version wrote them
	Unlisted    int                `json:"unlisted,omitempty"`      // further CVEs, or findings that may name some: there was no room for them
	Notes       []string           `json:"scanner_notes,omitempty"` // what the scanner says that its findings leave open
	Findings    []findings.Finding `json:"findings"`                // the most severe first
}

// factsOf makes the facts of all that a report says.
func factsOf(r findings.Report) vulnFacts {
	all := r.Findings
	findings.Sort(all)
	f := vulnFacts{figures: figuresOf(all), Digest: digest(all), Notes: r.Notes}
	f.Findings, f.Omitted = fitting(all, maxListed)
	listed := map[string]bool{}
	for _, one := range f.Findings {
		for _, id := range one.CVEs() {
			listed[id] = true
		}
	}
	left := slices.DeleteFunc(r.CVEs(), func(id string) bool { return listed[id] })
	f.OmittedCVEs, f.Unlisted = newCVESet(left, maxOmitted)
	return f
}

// fitting cuts a list to a number of bytes as JSON, and tells how many were left out. Where there is no room for all, there is
// none for their links.
func fitting(all []findings.Finding, room int) (list []findings.Finding, omitted int) {
	if list, omitted = filling(all, room); omitted == 0 {
		return list, 0
	}
	bare := slices.Clone(all)
	for i := range bare {
		bare[i].URL = ""
	}
	return filling(bare, room)
}

func filling(all []findings.Finding, room int) (list []findings.Finding, omitted int) {
	for i, f := range all {
		b, err := plain.JSON(f)
		if room -= len(b) + 1; err != nil || room < 0 {
			return all[:i], len(all) - i
		}
	}
	return slices.Clip(append([]findings.Finding{}, all...)), 0
}

// identity is what makes a finding the same in the next scan.
func identity(f findings.Finding) string { return f.Identity() }

// digest tells whether two scans found the same, in any order.
func digest(all []findings.Finding) string {
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = identity(f)
	}
	slices.Sort(ids)
	h := sha256.New()
	for _, id := range slices.Compact(ids) {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// evidence is all that a ticket knows when it is assessed. It is read from the ticket's facts alone, so that whoever takes
// over decides the same.
type evidence struct {
	figures
	asset, task string
	findings    []findings.Finding
	left        int      // findings that are not among findings, or stand there without what intelligence knows of them
	omitted     []string // CVEs that findings do not name
	unlisted    int      // further ones, of which only the number is known
	unasked     int      // CVEs for which intelligence was not asked, although it was asked for others
	digest      string
	notes       []string    // what the scanner says that its findings leave open
	intel       *intelFacts // nil when the step was left out
}

// evidenceOf reads a ticket.
func evidenceOf(t client.Ticket) (evidence, error) {
	e := evidence{asset: t.Asset, task: t.Task}
	step, ok := t.Steps[client.StepVuln]
	if !ok {
		return e, errors.New("the step vuln is not recorded")
	}
	f, err := readVulnFacts(step.Facts)
	if err != nil {
		return e, fmt.Errorf("cannot use the recorded facts of vuln: %w", err)
	}
	e.figures, e.findings, e.digest, e.notes = f.figures, f.Findings, f.Digest, f.Notes
	e.left, e.omitted, e.unlisted = f.Omitted, append(f.OmittedCVEs.list(), f.OmittedIDs...), f.Unlisted
	if step, ok := t.Steps[client.StepIntel]; ok {
		facts, err := readIntelFacts(step.Facts)
		if err != nil {
			return e, fmt.Errorf("cannot use the recorded facts of intel: %w", err)
		}
		e.take(facts)
	}
	return e, nil
}

// take adds what intelligence knows: more of what was found, and what nobody had found before. Nothing gets less grave by it.
func (e *evidence) take(facts intelFacts) {
	e.intel = &facts
	place := func(f findings.Finding) string {
		return f.ID + "\x00" + f.Package + "\x00" + f.Location + "\x00" + f.Title
	}
	at := map[string]int{}
	for i, f := range e.findings {
		at[place(f)] = i
	}
	e.findings = slices.Clone(e.findings)
	var fresh []findings.Finding
	for _, f := range facts.Findings {
		i, known := at[place(f)]
		if !known {
			fresh = append(fresh, f)
			e.figures.take(f)
			continue
		}
		e.weigh(f)
		old := e.findings[i]
		if slices.Index(client.Severities(), old.Severity) > slices.Index(client.Severities(), f.Severity) {
			f.Severity = old.Severity
		}
		f.CVSS, f.EPSS, f.KEV = max(f.CVSS, old.CVSS), max(f.EPSS, old.EPSS), f.KEV || old.KEV
		f.FixedIn, f.URL = orElse(f.FixedIn, old.FixedIn), orElse(f.URL, old.URL)
		*e.of(old.Severity)--
		*e.of(f.Severity)++
		e.findings[i] = f
	}
	if len(fresh) > 0 {
		e.findings, e.digest = append(e.findings, fresh...), e.digest+digest(fresh)
		findings.Sort(e.findings)
	}
	e.left += facts.Omitted
	e.graver(facts.said)
	e.left = max(e.left, e.Count-len(e.findings))
	exploited(e.findings, facts.KEVIDs)
	e.unasked = len(e.omitted) + e.unlisted
	if facts.Unchecked != nil {
		e.unasked = *facts.Unchecked
	}
}

// readVulnFacts reads facts that have findings; what this agent did not record lacks the figures, which are then made.
func readVulnFacts(facts json.RawMessage) (vulnFacts, error) {
	report, err := findings.Read(context.Background(), plainFindings, bytes.NewReader(facts), nil)
	if err != nil {
		return vulnFacts{}, err
	}
	all, f := report.Findings, vulnFacts{}
	if err := json.Unmarshal(facts, &f); err == nil && f.Digest != "" && f.Count >= len(all) {
		f.Findings = all
		return f, nil
	}
	f, err = completed(report, facts)
	f.Omitted -= len(all) - len(f.Findings)
	f.Findings, f.OmittedCVEs = all, nil
	f.Unlisted = f.Omitted
	return f, err
}

// completed are the facts of a program's findings, with what it says itself of their figures, where that is graver.
func completed(r findings.Report, facts json.RawMessage) (vulnFacts, error) {
	var m members
	if err := json.Unmarshal(facts, &m); err != nil {
		return vulnFacts{}, errors.New("they are not an object")
	}
	said, err := readFigures(m)
	if err != nil {
		return vulnFacts{}, err
	}
	exploited(r.Findings, said.KEVIDs)
	f := factsOf(r)
	f.graver(said.figures)
	if more := max(said.Omitted, f.Count-len(r.Findings)); more > 0 { // that it has not told
		f.Omitted, f.Unlisted = f.Omitted+more, f.Unlisted+more
	}
	return f, nil
}
