// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"score": score,
	"count": plain.Count,
	"join":  func(all []string) string { return strings.Join(all, ", ") },
	"n":     func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
}).Parse(pageText))

// How much of each section a page shows at once, and folded below that.
const (
	mostShown  = 25
	mostFolded = 200
)

// sheet is what the page is made of.
type sheet struct {
	*Report
	At, Day     string
	Nothing     bool // nothing could be scanned
	Plots       []plot
	Severities  []severityCount // of what is open
	NewCritical int
	ReasonList  []Reason
	OtherReason int
	Lists       []findingList
	Machines    []assetCard
	LeftAssets  int
	Names       []nameList
	Open        int
	NotScanned  []NotScanned
	LeftUnseen  int
}

// severityCount is a part of the bar of what is open.
type severityCount struct {
	Severity string
	Count    int
	Percent  float64
}

// findingList is a table of findings.
type findingList struct {
	ID, Title, Intro string
	Count            int
	Rows, Folded     []findingRow
	Left             int
	Last             string // heading of the last column, "" for none
}

// findingRow is a line of it.
type findingRow struct {
	Finding
	Place    string
	Packages string
	Fixes    string
	Where    string
	Assets   int
	Last     string
}

// nameList is a list of assets.
type nameList struct {
	ID, Title string
	Names     []string
	Count     int
	Left      int
}

// assetCard is an asset with what is gravest on it.
type assetCard struct {
	Standing
	Rows []findingRow
	Left int
}

// HTML writes the report as one file that needs nothing from the network.
func (r *Report) HTML(w io.Writer) error {
	b := bufio.NewWriter(w)
	err := page.Execute(b, r.sheet())
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

func (r *Report) sheet() sheet {
	s := sheet{
		Report: r, At: r.At.UTC().Format(verdict.TimeForm), Nothing: r.facts(0).nothingScanned(), Plots: r.plots(),
		NewCritical: r.NewBySeverity["critical"], Open: r.Counts.Findings - r.Counts.Accepted,
	}
	listed := 0
	for _, n := range r.BySeverity {
		listed += n
	}
	for _, severity := range []string{"critical", "high", "medium", "unknown", "low", "info"} {
		if n := r.BySeverity[severity]; n > 0 {
			s.Severities = append(s.Severities, severityCount{severity, n, 100 * float64(n) / float64(listed)})
		}
	}
	all := r.Reasons.Sorted()
	s.ReasonList = all[:min(mostShown, len(all))]
	for _, reason := range all[len(s.ReasonList):] {
		s.OtherReason += reason.Count
	}
	s.OtherReason += r.Reasons.Other

	intro := "Not there in " + r.Previous + "."
	if r.Previous == "" {
		intro = "This is the first report: all findings are new."
	}
	s.Lists = []findingList{
		groupList("new", "New", intro, r.New.Count, r.Groups, true, 0),
		list("changed", "Changed", "Still there, and not what they were.", "Was", r.Changed, Finding.Difference),
		list("fixed", "Fixed", "Scanned again, and not found any more.", "", r.Fixed, func(Finding) string { return "" }),
		groupList("open", "All that is open, by finding", "", r.openCount(), r.Groups, false, r.LeftGroups),
		list("accepted", "Accepted", "Known, and not counted.", "Accepted", r.Accepted, Finding.whyAccepted),
	}
	shown := r.Assets.First(mostShown * 4)
	for _, one := range shown {
		card := assetCard{Standing: one, Left: one.Open - len(one.Worst)}
		for _, f := range one.Worst {
			card.Rows = append(card.Rows, rowOf(f, ""))
		}
		s.Machines = append(s.Machines, card)
	}
	s.LeftAssets = r.Assets.Count - len(shown)
	s.Names = []nameList{
		assetList("high", "Newly at high risk", r.NewlyHigh),
		assetList("nothigh", "No longer at high risk", r.NoLongerHigh),
		assetList("unreached", "Not reachable any more", r.Unreached),
	}
	s.NotScanned = r.NotScanned.First(mostFolded)
	s.LeftUnseen = r.NotScanned.Count - len(s.NotScanned)
	return s
}

// openCount is how many findings are open and listed.
func (r *Report) openCount() (n int) {
	for _, one := range r.BySeverity {
		n += one
	}
	return n
}

func assetList(id, title string, s Section[string]) nameList {
	names := s.First(mostFolded)
	return nameList{id, title, names, s.Count, s.Count - len(names)}
}

func list(id, title, intro, last string, s Section[Finding], said func(Finding) string) findingList {
	l := findingList{ID: id, Title: title, Intro: intro, Count: s.Count, Last: last}
	rows, left := []findingRow{}, s.Left()
	for _, one := range together(s.Head, said) {
		if len(rows) == mostFolded {
			left += one.Places
			continue
		}
		row := rowOf(one.Finding, one.Said)
		row.Where, row.Assets = someOf(one.Assets, one.On), one.On
		if one.Places > 1 {
			row.Place = ""
		}
		rows = append(rows, row)
	}
	return l.filled(rows, left)
}

func rowOf(f Finding, last string) findingRow {
	return findingRow{Finding: f, Place: f.Location, Packages: f.Package, Fixes: f.FixedIn, Where: f.Asset, Assets: 1, Last: last}
}

func groupList(id, title, intro string, count int, groups []Group, onlyNew bool, left int) findingList {
	l := findingList{ID: id, Title: title, Intro: intro, Count: count}
	var rows []findingRow
	for _, g := range groups {
		row := findingRow{Finding: g.Finding, Packages: strings.Join(g.Packages, ", "), Fixes: strings.Join(g.FixedIns, ", "), Where: g.Where(), Assets: g.On}
		if onlyNew {
			row.Where, row.Assets = someOf(g.New, g.NewOn), g.NewOn
		}
		switch {
		case row.Assets == 0:
		case len(rows) < mostFolded:
			rows = append(rows, row)
		default:
			left++
		}
	}
	return l.filled(rows, left)
}

func (l findingList) filled(rows []findingRow, left int) findingList {
	shown := min(mostShown, len(rows))
	l.Rows, l.Folded, l.Left = rows[:shown], rows[shown:], left
	return l
}
