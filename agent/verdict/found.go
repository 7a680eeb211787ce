// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"

	"golang.org/x/text/transform"
)

// ReadFindings reads {"findings": […]} and nothing else: beside an error, an empty list would not say that nothing was found.
func ReadFindings(ctx context.Context, r io.Reader) (findings.Report, error) {
	copied, w := io.Pipe()
	checked := make(chan error)
	go func() {
		err := findingsForm.checkFrom(copied)
		_, _ = io.Copy(io.Discard, copied) // until it is read to its end
		checked <- err
	}()
	r = transform.NewReader(r, unicode.BOMOverride(transform.Nop))
	report, err := findings.Read(ctx, PlainFindings, io.TeeReader(r, w), nil)
	_ = w.Close()
	if wrong := <-checked; err == nil && wrong != nil {
		return findings.Report{}, wrong
	}
	return report, err
}

// OwnVuln completes what a command said in Picket's own form: the findings in their common form, the figures, and what is left
// open.
func OwnVuln(out Record, notes []string) (Record, error) {
	if out.State != client.StateVulnCheckDone {
		return out, nil // it is checked against the flow where it is recorded
	}
	if out.Facts == nil {
		return Record{}, errors.New(`there are no findings in its facts: "findings": [] is needed when nothing was found`)
	}
	report, err := findings.Read(context.Background(), PlainFindings, bytes.NewReader(out.Facts), nil)
	if err != nil {
		return Record{}, fmt.Errorf("its facts cannot be used: %w", err)
	}
	if err := ToldError(out.Facts); err != nil {
		return Record{}, err
	}
	report.Notes = append(report.Notes, notes...)
	complete, err := completed(report, out.Facts)
	if err != nil {
		return Record{}, fmt.Errorf("its facts cannot be used: %w", err)
	}
	ours, err := plain.JSON(complete)
	if err != nil {
		return Record{}, err
	}
	if out.Facts, err = Merged(out.Facts, ours); err != nil {
		return Record{}, err
	}
	out.Summary = cmp.Or(out.Summary, complete.Summary())
	return out, nil
}

// Merged is an object with the members of two, where the second's hold.
func Merged(first, second json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, object := range []json.RawMessage{first, second} {
		if err := json.Unmarshal(object, &all); err != nil {
			return nil, err
		}
	}
	b, err := plain.JSON(all)
	if err == nil && len(b) > MaxFacts {
		err = errFactsTooLarge
	}
	return b, err
}

// VulnFacts are what the step vuln records beside what a command of its own says.
type VulnFacts struct {
	Figures
	Digest      string             `json:"digest"`                    // of all findings: what they are and where
	Omitted     int                `json:"omitted"`                   // findings for which there was no room, the least severe
	Lacks       *Figures           `json:"omitted_figures,omitempty"` // of these; nil when a program does not tell them
	KEVIDs      []string           `json:"kev_ids,omitempty"`         // what a program says itself
	OmittedCVEs cveSet             `json:"omitted_cves,omitempty"`    // CVEs that the listed findings do not name, as far as there was room
	OmittedIDs  []string           `json:"omitted_ids,omitempty"`     // the same, as an earlier version wrote them
	Unlisted    int                `json:"unlisted,omitempty"`        // further CVEs, or findings that may name some: there was no room for them
	Notes       []string           `json:"scanner_notes,omitempty"`   // what the scanner says that its findings leave open
	Incomplete  bool               `json:"incomplete,omitempty"`      // the scanner says that it could not try all
	Findings    []findings.Finding `json:"findings"`                  // the most severe first
}

// FactsOf makes the facts of all that a report says.
func FactsOf(r findings.Report) VulnFacts {
	all := r.Findings
	findings.Sort(all)
	f := VulnFacts{Figures: figuresOf(all), Digest: digest(all), Notes: r.Notes, Incomplete: r.Incomplete}
	if f.Findings, f.Omitted = Fitting(all, maxListed); f.Omitted > 0 {
		lacks := figuresOf(all[len(f.Findings):])
		f.Lacks = &lacks
	}
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

// readVulnFacts reads facts that have findings; what this agent did not record lacks the figures, which are then made.
func readVulnFacts(facts json.RawMessage) (VulnFacts, error) {
	report, err := findings.Read(context.Background(), PlainFindings, bytes.NewReader(facts), nil)
	if err != nil {
		return VulnFacts{}, err
	}
	all, f := report.Findings, VulnFacts{}
	if err := json.Unmarshal(facts, &f); err == nil && f.Digest != "" && f.Count >= len(all) {
		f.Findings = all
		return f, nil
	}
	f, err = completed(report, facts)
	f.Omitted -= len(all) - len(f.Findings)
	f.Findings, f.OmittedCVEs, f.Lacks = all, nil, nil
	f.Unlisted = f.Omitted
	return f, err
}

// completed are the facts of a program's findings, with what it says itself of their figures, where that is graver.
func completed(r findings.Report, facts json.RawMessage) (VulnFacts, error) {
	var m members
	if err := json.Unmarshal(facts, &m); err != nil {
		return VulnFacts{}, errors.New("they are not an object")
	}
	said, err := readFigures(m)
	if err = cmp.Or(err, m.member("incomplete", &r.Incomplete, "true or false")); err != nil {
		return VulnFacts{}, err
	}
	exploited(r.Findings, said.KEVIDs)
	f := FactsOf(r)
	f.KEVIDs = said.KEVIDs
	f.graver(said.Figures)
	if more := max(said.Omitted, f.Count-len(r.Findings)); more > 0 { // that it has not told
		f.Omitted, f.Unlisted, f.Lacks = f.Omitted+more, f.Unlisted+more, nil
	}
	return f, nil
}

// IsIncomplete says whether the scan of a ticket admits that it could not try all.
func IsIncomplete(t client.Ticket) bool {
	var said struct {
		Incomplete bool `json:"incomplete"`
	}
	return json.Unmarshal(t.Steps[client.StepVuln].Facts, &said) == nil && said.Incomplete
}

// Summary is what is found, and what is left open.
func (f VulnFacts) Summary() string {
	return plain.Cut(strings.Join(append([]string{f.sentence()}, f.Notes...), "; "), MaxSummary)
}
