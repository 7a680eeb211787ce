// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// Sizes within the API's limit on facts, in bytes.
const (
	maxListed     = 384 << 10 // of the findings in the facts of vuln; those of intel may have maxAnnotated, for they grow
	maxAnnotated  = 448 << 10
	maxOmittedIDs = 64 << 10
)

// figures sum up all findings, those too for which the facts have no room.
type figures struct {
	Count    int     `json:"count"`
	MaxCVSS  float64 `json:"max_cvss"`           // a finding without a score counts with the lowest of its severity
	TopCVSS  float64 `json:"top_cvss,omitempty"` // the highest score that a scanner gave; 0 when none did
	KEV      bool    `json:"kev"`                // one is known to be exploited
	EPSS     float64 `json:"epss"`               // the highest, 0 to 1
	Critical int     `json:"critical"`
	High     int     `json:"high"`
	Medium   int     `json:"medium"`
	Low      int     `json:"low"`
	Info     int     `json:"info"`
	Unknown  int     `json:"unknown"`
	Unread   int     `json:"unread,omitempty"` // findings without a score whose CVSS vector cannot be read
}

// floors are the lowest scores of each severity in CVSS 3.1 and 4.0 (the qualitative severity rating scale of their
// specifications).
var floors = map[string]float64{"critical": 9.0, "high": 7.0, "medium": 4.0, "low": 0.1}

func figuresOf(all []findings.Finding) figures {
	var f figures
	by := map[string]*int{"critical": &f.Critical, "high": &f.High, "medium": &f.Medium, "low": &f.Low, "info": &f.Info}
	f.Count = len(all)
	for _, one := range all {
		score := one.CVSS
		if score == 0 {
			score = floors[one.Severity]
		}
		f.MaxCVSS, f.TopCVSS = max(f.MaxCVSS, score), max(f.TopCVSS, one.CVSS)
		f.KEV, f.EPSS = f.KEV || one.KEV, max(f.EPSS, one.EPSS)
		if one.Vector != "" {
			f.Unread++
		}
		if n := by[one.Severity]; n != nil {
			*n++
		} else {
			f.Unknown++
		}
	}
	return f
}

// vulnFacts are what the step vuln records beside what a command of its own says.
type vulnFacts struct {
	figures
	Digest     string             `json:"digest"`                // of all findings: what they are and where
	Omitted    int                `json:"omitted"`               // findings for which there was no room, the least severe
	OmittedIDs []string           `json:"omitted_ids,omitempty"` // their CVEs, as far as there was room
	Unlisted   int                `json:"unlisted,omitempty"`    // of those CVEs, how many there was no room for
	Notes      []string           `json:"notes,omitempty"`       // what the scanner says that its findings leave open
	Findings   []findings.Finding `json:"findings"`              // the most severe first
}

// factsOf makes the facts of all findings.
func factsOf(all []findings.Finding) vulnFacts {
	findings.Sort(all)
	f := vulnFacts{figures: figuresOf(all), Digest: digest(all)}
	f.Findings, f.Omitted = fitting(all, maxListed)
	seen, room := map[string]bool{}, maxOmittedIDs
	for _, one := range all[len(f.Findings):] {
		for _, id := range one.CVEs() {
			if seen[id] {
				continue
			}
			seen[id] = true
			if room -= len(id) + 3; room < 0 {
				f.Unlisted++
				continue
			}
			f.OmittedIDs = append(f.OmittedIDs, id)
		}
	}
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
		b, err := encode(f)
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
	omitted     []string // CVEs of findings that are not among findings
	unlisted    int      // of those, how many are not known
	digest      string
	intel       *intelFacts // nil when the step was left out
}

// evidenceOf reads a ticket.
func evidenceOf(t client.Ticket) (evidence, error) {
	e := evidence{asset: t.Asset, task: t.Task}
	step, ok := t.Steps[stepVuln]
	if !ok {
		return e, errors.New("the step vuln is not recorded")
	}
	f, err := readVulnFacts(step.Facts)
	if err != nil {
		return e, fmt.Errorf("cannot use the recorded facts of vuln: %w", err)
	}
	e.figures, e.findings, e.digest = f.figures, f.Findings, f.Digest
	e.left, e.omitted, e.unlisted = f.Omitted, f.OmittedIDs, f.Unlisted
	if step, ok := t.Steps[stepIntel]; ok {
		facts, err := readIntelFacts(step.Facts)
		if err != nil {
			return e, fmt.Errorf("cannot use the recorded facts of intel: %w", err)
		}
		e.intel = &facts
		e.findings, e.left = updated(e.findings, facts.Findings), e.left+facts.Omitted
		e.KEV, e.EPSS = e.KEV || facts.KEV, max(e.EPSS, facts.EPSS)
	}
	for _, one := range e.findings {
		e.KEV, e.EPSS = e.KEV || one.KEV, max(e.EPSS, one.EPSS)
	}
	return e, nil
}

// updated is a list in which the findings of another stand in place of those that are the same, and behind them.
func updated(list, by []findings.Finding) []findings.Finding {
	exactly := func(f findings.Finding) string {
		return f.ID + "\x00" + f.Package + "\x00" + f.Location + "\x00" + f.Title
	}
	at := map[string]int{}
	for i, f := range list {
		at[exactly(f)] = i
	}
	list = slices.Clone(list)
	for _, f := range by {
		if i, ok := at[exactly(f)]; ok {
			list[i] = f
		} else {
			list = append(list, f)
		}
	}
	return list
}

// readVulnFacts reads facts that have findings; what this agent did not record lacks the figures, which are then made.
func readVulnFacts(facts json.RawMessage) (vulnFacts, error) {
	all, err := findings.Parse(plainFindings, bytes.NewReader(facts))
	if err != nil {
		return vulnFacts{}, err
	}
	f := vulnFacts{}
	if err := json.Unmarshal(facts, &f); err != nil || f.Digest == "" || f.Count < len(all) {
		f = factsOf(all)
		f.Omitted, f.OmittedIDs, f.Unlisted = 0, nil, 0
	}
	f.Findings = all
	return f, nil
}
