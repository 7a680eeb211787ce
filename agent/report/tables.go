// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"slices"
	"strings"
)

// Table is a section of findings, as every form shows it: what is the same on several assets is one row.
type Table struct {
	Section, Title string
	Intro          string // a sentence below the title, or ""
	Last           string // what Said is, "" where it is empty
	Count          int    // findings
	Rows           []TableRow
	Left           int // rows for which there was no room
}

// TableRow is a finding on one asset or several.
type TableRow struct {
	Finding         // the gravest of them
	Packages string // some of the versions that were found
	Fixes    string // some of the versions that mend it
	Assets   int
	Where    string // the first few assets, with how many more there are
	Said     string // what is to be said of them beside the finding
}

// Tables are the sections of findings with most rows at most: what is new, changed, fixed, open and accepted.
func (r *Report) Tables(most int) []Table {
	intro := "Not there in " + r.Previous + "."
	if r.Previous == "" {
		intro = "This is the first report: all findings are new."
	}
	open := 0
	for _, n := range r.BySeverity {
		open += n
	}
	return []Table{
		Table{Section: SectionNew, Title: "New", Intro: intro, Count: r.New.Count}.ofGroups(r.Groups, true, 0, most),
		Table{Section: SectionChanged, Title: "Changed", Intro: "Still there, and not what they were.", Last: "Was"}.of(r.Changed, Finding.Difference, most),
		Table{Section: SectionFixed, Title: "Fixed", Intro: "Scanned again, and not found any more."}.of(r.Fixed, func(Finding) string { return "" }, most),
		Table{Section: SectionOpen, Title: "All that is open, by finding", Count: open}.ofGroups(r.Groups, false, r.LeftGroups, most),
		Table{Section: SectionAccepted, Title: "Accepted", Intro: "Known, and not counted.", Last: "Reason"}.of(r.Accepted, Finding.whyAccepted, most),
	}
}

func (t Table) of(s Section[Finding], said func(Finding) string, most int) Table {
	t.Count, t.Left = s.Count, s.Left()
	t.Rows = together(s.Head, said)
	return t.cut(most)
}

func (t Table) ofGroups(groups []Group, onlyNew bool, left, most int) Table {
	for _, g := range groups {
		row := TableRow{Finding: g.Finding, Packages: strings.Join(g.Packages, ", "), Fixes: strings.Join(g.FixedIns, ", "), Where: g.Where(), Assets: g.On}
		if onlyNew {
			row.Where, row.Assets = someOf(g.New, g.NewOn), g.NewOn
		}
		if row.Assets > 0 {
			t.Rows = append(t.Rows, row)
		}
	}
	t.Left = left
	return t.cut(most)
}

func (t Table) cut(most int) Table {
	if len(t.Rows) > most {
		t.Left += len(t.Rows) - most
		t.Rows = t.Rows[:most]
	}
	for i := range t.Rows {
		if t.Rows[i].Assets > 1 {
			t.Rows[i].Location = "" // of one of them
		}
	}
	return t
}

// together puts findings of one id in one package together of which said tells the same: the gravest first, and of equal ones those on
// most assets.
func together(list []Finding, said func(Finding) string) []TableRow {
	type key struct{ id, pkg, severity, said string }
	type group struct {
		TableRow
		names []string
		last  string // the asset that was counted last
	}
	at := map[key]int{}
	var all []group
	for _, f := range slices.SortedStableFunc(slices.Values(list), func(a, b Finding) int { return cmp.Compare(a.Asset, b.Asset) }) {
		k := key{f.ID, packageName(f.Package), f.Severity, said(f)}
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			all = append(all, group{TableRow: TableRow{Finding: f, Packages: f.Package, Fixes: f.FixedIn, Said: k.said}})
		}
		if one := &all[i]; !known || one.last != f.Asset {
			one.last = f.Asset
			if one.Assets++; len(one.names) < mostNames {
				one.names = append(one.names, f.Asset)
			}
		}
	}
	rows := make([]TableRow, len(all))
	for i, one := range all {
		rows[i] = one.TableRow
		rows[i].Where = someOf(one.names, one.Assets)
	}
	slices.SortStableFunc(rows, func(a, b TableRow) int {
		return cmp.Or(graver(a.Finding, b.Finding), b.Assets-a.Assets, bySeverity(a.Finding, b.Finding))
	})
	return rows
}
