// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// Facts are what the ticket of a report keeps of it: the counts, and the head of each section. The message is made from them alone,
// so that whoever takes over tells the same. Their first members are those that picket report --json prints, where no section is
// cut.
type Facts struct {
	List         string       `json:"list"`
	Task         string       `json:"task"`
	Previous     *string      `json:"previous"` // null: this is the first
	At           time.Time    `json:"at"`
	Notes        []string     `json:"notes"`
	Counts       Counts       `json:"counts"`
	New          []Finding    `json:"new"`
	Fixed        []Finding    `json:"fixed"`
	Changed      []Finding    `json:"changed"`
	Accepted     []Finding    `json:"accepted"`
	NewlyHigh    []string     `json:"newly_high"`
	NoLongerHigh []string     `json:"no_longer_high"`
	Failed       []Failure    `json:"failed"`
	Unreached    []string     `json:"unreached"`
	NotScanned   []NotScanned `json:"not_scanned"`

	NewlyUnreached int            `json:"newly_unreached"` // the first of unreached, which were not offline in the report before
	Omitted        map[string]int `json:"omitted"`         // by section, how many there was no room for
	Groups         []NewGroup     `json:"new_groups"`
	NewBySeverity  map[string]int `json:"new_by_severity"`
	Graver         int            `json:"graver"`  // of those that changed, how many are more severe, exploited, or not accepted any more
	Scanned        int            `json:"scanned"` // assets whose findings are known
	Reasons        []Reason       `json:"reasons"` // why assets failed, the most frequent first
}

// NewGroup is a finding that is new on some assets.
type NewGroup struct {
	ID       string   `json:"id"`
	Severity string   `json:"severity"`
	CVSS     float64  `json:"cvss"`
	KEV      bool     `json:"kev"`
	Title    string   `json:"title"`
	Package  string   `json:"package"`
	FixedIn  string   `json:"fixed_in"`
	URL      string   `json:"url"`
	Assets   []string `json:"assets"` // the first few
	On       int      `json:"on"`     // how many these are
}

// mostInFacts is how much of each section facts have at most.
const mostInFacts = 200

// Facts are as many of the report's findings as room allows, in bytes as JSON.
func (r *Report) Facts(room int) (Facts, error) {
	for n := mostInFacts; ; n /= 2 {
		f := r.facts(n)
		b, err := plain.JSON(f)
		if err != nil {
			return Facts{}, fmt.Errorf("cannot write the report's facts: %w", err)
		}
		if len(b) <= room || n == 0 {
			return f, nil
		}
	}
}

// facts have the first n of each section.
func (r *Report) facts(n int) Facts {
	unreached := slices.Concat(r.NewlyUnreached.First(n), r.StillUnreached.First(n))
	f := Facts{
		List: r.List, Task: r.Task, Previous: r.previous(), At: r.At, Notes: r.Notes[:min(n, len(r.Notes))], Counts: r.Counts,
		New: r.New.First(n), Fixed: r.Fixed.First(n), Changed: r.Changed.First(n), Accepted: r.Accepted.First(n),
		NewlyHigh: r.NewlyHigh.First(n), NoLongerHigh: r.NoLongerHigh.First(n),
		Failed: r.Failed.First(n), Unreached: unreached[:min(n, len(unreached))], NewlyUnreached: r.NewlyUnreached.Count, NotScanned: r.NotScanned.First(n),
		Omitted: map[string]int{}, Groups: []NewGroup{}, NewBySeverity: r.NewBySeverity, Graver: r.Graver, Scanned: r.Scanned, Reasons: r.Reasons.Sorted(),
	}
	f.Reasons = f.Reasons[:min(n, len(f.Reasons))]
	for _, g := range r.Groups {
		if g.NewOn > 0 && len(f.Groups) < n {
			f.Groups = append(f.Groups, NewGroup{
				ID: g.ID, Severity: g.Severity, CVSS: g.CVSS, KEV: g.KEV, Title: g.Title, Package: g.Package, FixedIn: g.FixedIn, URL: g.URL,
				Assets: g.New, On: g.NewOn,
			})
		}
	}
	for section, left := range map[string]int{
		SectionNew: r.New.Count - len(f.New), SectionFixed: r.Fixed.Count - len(f.Fixed),
		SectionChanged: r.Changed.Count - len(f.Changed), SectionAccepted: r.Accepted.Count - len(f.Accepted),
		SectionNewlyHigh: r.NewlyHigh.Count - len(f.NewlyHigh), SectionNoLongerHigh: r.NoLongerHigh.Count - len(f.NoLongerHigh),
		SectionFailed: r.Failed.Count - len(f.Failed), SectionUnreached: r.Counts.Unreached - len(f.Unreached),
		SectionNotScanned: r.NotScanned.Count - len(f.NotScanned),
	} {
		if left > 0 {
			f.Omitted[section] = left
		}
	}
	return f
}

// ReadFacts reads what Facts were recorded.
func ReadFacts(b json.RawMessage) (Facts, error) {
	var f Facts
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("cannot read the facts of a report: %w", err)
	}
	return f, nil
}

// Past is what a later report shows of this one.
func (f Facts) Past() Past { return Past{f.Task, f.At, f.Previous == nil, f.Counts} }
