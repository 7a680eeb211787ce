// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// Evidence is all that a ticket knows when it is assessed. It is read from the ticket's facts alone, so that whoever takes
// over decides the same.
type Evidence struct {
	Figures
	asset, task string
	Findings    []findings.Finding
	left        int      // findings that are not among findings, or stand there without what intelligence knows of them
	Omitted     []string // CVEs that findings do not name
	Unlisted    int      // further ones, of which only the number is known
	unasked     int      // CVEs for which intelligence was not asked, although it was asked for others
	Digest      string
	notes       []string    // what the scanner says that its findings leave open
	intel       *IntelFacts // nil when the step was left out
	kevIDs      []string    // that programs say are known to be exploited
	lacks       *Figures    // of the findings that are left; nil where they are not known
	Accepted    int         // findings that Without has taken out
	places      []int       // where Findings stood before that; nil: where they stand
}

// EvidenceOf reads a ticket.
func EvidenceOf(t client.Ticket) (Evidence, error) {
	e := Evidence{asset: t.Asset, task: t.Task}
	step, ok := t.Steps[client.StepVuln]
	if !ok {
		return e, errors.New("the step vuln is not recorded")
	}
	f, err := readVulnFacts(step.Facts)
	if err != nil {
		return e, fmt.Errorf("cannot use the recorded facts of vuln: %w", err)
	}
	e.Figures, e.Findings, e.Digest, e.notes = f.Figures, f.Findings, f.Digest, f.Notes
	e.left, e.Omitted, e.Unlisted = f.Omitted, append(f.OmittedCVEs.cves(), f.OmittedIDs...), f.Unlisted
	e.lacks, e.kevIDs = f.Lacks, f.KEVIDs
	if step, ok := t.Steps[client.StepIntel]; ok {
		facts, err := ReadIntelFacts(step.Facts)
		if err != nil {
			return e, fmt.Errorf("cannot use the recorded facts of intel: %w", err)
		}
		e.take(facts)
	}
	return e, nil
}

// take adds what intelligence knows: more of what was found, and what nobody had found before. Nothing gets less grave by it.
func (e *Evidence) take(facts IntelFacts) {
	e.intel = &facts
	vulnLeft := e.left
	place := func(f findings.Finding) string {
		return f.ID + "\x00" + f.Package + "\x00" + f.Location + "\x00" + f.Title
	}
	at := map[string]int{}
	for i, f := range e.Findings {
		at[place(f)] = i
	}
	e.Findings = slices.Clone(e.Findings)
	var fresh []findings.Finding
	for _, f := range facts.Findings {
		i, known := at[place(f)]
		if !known {
			fresh = append(fresh, f)
			e.Figures.take(f)
			continue
		}
		e.weigh(f)
		old := e.Findings[i]
		if slices.Index(client.Severities(), old.Severity) > slices.Index(client.Severities(), f.Severity) {
			f.Severity = old.Severity
		}
		f.CVSS, f.EPSS, f.KEV = max(f.CVSS, old.CVSS), max(f.EPSS, old.EPSS), f.KEV || old.KEV
		f.FixedIn, f.URL = cmp.Or(f.FixedIn, old.FixedIn), cmp.Or(f.URL, old.URL)
		*e.of(old.Severity)--
		*e.of(f.Severity)++
		e.Findings[i] = f
	}
	if len(fresh) > 0 {
		e.Findings, e.Digest = append(e.Findings, fresh...), e.Digest+digest(fresh)
		findings.Sort(e.Findings)
	}
	e.left += facts.Omitted
	e.graver(facts.said)
	exploited(e.Findings, facts.KEVIDs)
	e.kevIDs = slices.Concat(e.kevIDs, facts.KEVIDs)
	switch untold := e.Count - len(e.Findings); {
	case untold > vulnLeft:
		e.left, e.lacks = max(e.left, untold), nil
	case facts.Lacks == nil:
		e.lacks = nil
	case vulnLeft == 0:
		e.lacks = &Figures{KEV: facts.Lacks.KEV, EPSS: facts.Lacks.EPSS}
	case e.lacks != nil:
		lacks := *e.lacks
		lacks.KEV, lacks.EPSS = lacks.KEV || facts.Lacks.KEV, max(lacks.EPSS, facts.Lacks.EPSS)
		e.lacks = &lacks
	}
	e.unasked = len(e.Omitted) + e.Unlisted
	if facts.Unchecked != nil {
		e.unasked = *facts.Unchecked
	}
}

// Left is how many findings are not among Findings, at most.
func (e Evidence) Left() int { return e.left }

// MayHide says whether a finding may be among those that are not listed. It is not when it is graver than the worst of them can be,
// whatever its EPSS, which changes each day.
func (e Evidence) MayHide(f findings.Finding) bool {
	if e.left == 0 || e.lacks == nil || e.lacks.Count < e.left {
		return e.left > 0
	}
	worst := findings.Finding{KEV: e.lacks.KEV, CVSS: e.lacks.TopCVSS, EPSS: 1}
	for _, severity := range append(client.Severities(), "unknown") {
		one := worst
		if one.Severity = severity; *e.lacks.of(severity) > 0 && findings.Graver(one, worst) < 0 {
			worst = one
		}
	}
	return findings.Graver(f, worst) >= 0
}

// Brief names the worst findings.
func (e Evidence) Brief() string {
	if len(e.Findings) == 0 {
		return e.sentence()
	}
	worst := cmp.Or(plain.Line(e.Findings[0].ID, 0), plain.Line(e.Findings[0].Title, 0))
	if e.Count > 1 {
		return fmt.Sprintf("%s and %d more", worst, e.Count-1)
	}
	return worst
}

// Has says whether all findings that are known now were there before.
func (e Evidence) Has(now Evidence) bool {
	if e.Digest == now.Digest {
		return true
	}
	if now.left > 0 {
		return false // some are not listed, so nothing tells whether they are new
	}
	known := map[string]bool{}
	for _, f := range e.Findings {
		known[f.Identity()] = true
	}
	return !slices.ContainsFunc(now.Findings, func(f findings.Finding) bool { return !known[f.Identity()] })
}

// Worse says whether something is graver now than it was before.
func Worse(now, before Evidence) bool {
	known := map[string]findings.Finding{}
	for _, f := range before.Findings {
		known[f.Identity()] = f
	}
	return now.KEV && !before.KEV || now.MaxCVSS > before.MaxCVSS || slices.ContainsFunc(now.Findings, func(f findings.Finding) bool {
		old, ok := known[f.Identity()]
		return ok && moreSevere(f, old)
	})
}

// moreSevere says whether a finding has become more severe.
func moreSevere(now, before findings.Finding) bool {
	return slices.Index(client.Severities(), now.Severity) > slices.Index(client.Severities(), before.Severity) || now.CVSS > before.CVSS ||
		now.KEV && !before.KEV
}
