// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// News says whether something is new, fixed, more severe, failed or no longer reachable.
func (f Facts) News() bool {
	c := f.Counts
	return c.New+c.Fixed+c.Failed+c.NotScanned+f.NewlyUnreached+f.Graver+f.all(SectionNewlyHigh)+f.all(SectionNoLongerHigh) > 0
}

// Severity is that of the message: that of the worst that is new; of failures at least medium, and high where nothing was scanned.
func (f Facts) Severity() string {
	worst := client.SeverityInfo
	raise := func(severity string, when bool) {
		if when && rank(severity) > rank(worst) {
			worst = severity
		}
	}
	for severity, n := range f.NewBySeverity {
		raise(severity, n > 0 && severity != "unknown")
	}
	for _, one := range f.Changed {
		raise(one.Severity, f.Graver > 0 && one.Severity != "unknown" && (one.Was["severity"] != nil || one.Was["kev"] == false || one.Was["accepted"] == true))
	}
	raise(client.SeverityHigh, f.all(SectionNewlyHigh) > 0 || f.nothingScanned() && f.News())
	raise(client.SeverityMedium, f.Counts.Failed+f.Counts.NotScanned > 0)
	return worst
}

// all is how many a section has, with those for which there was no room.
func (f Facts) all(section string) int {
	return f.Omitted[section] + map[string]int{SectionNewlyHigh: len(f.NewlyHigh), SectionNoLongerHigh: len(f.NoLongerHigh), SectionChanged: len(f.Changed)}[section]
}

// nothingScanned says whether of no asset anything is known, for whatever reasons.
func (f Facts) nothingScanned() bool { return f.Counts.Assets > 0 && f.Scanned == 0 }

// newlyUnreached is what is said of assets that were not offline in the report before. Of the first report nobody knows what they were.
func newlyUnreached(first bool) string {
	if first {
		return "Not reachable"
	}
	return "No longer reachable"
}

// mostTitle is the API's limit on the title of a notification, in bytes.
const mostTitle = 256

// Title is the report in one line.
func (f Facts) Title() string {
	c, said := f.Counts, []string{}
	say := func(n int, what string) {
		if n > 0 {
			said = append(said, strconv.Itoa(n)+" "+what)
		}
	}
	if f.nothingScanned() {
		said = append(said, "nothing was scanned")
	}
	say(f.all(SectionNewlyHigh), "newly at high risk")
	if worst := f.NewBySeverity[client.SeverityCritical]; worst > 0 {
		say(c.New, fmt.Sprintf("new (%d critical)", worst))
	} else {
		say(c.New, "new")
	}
	say(f.Graver, "worse")
	say(f.all(SectionChanged)-f.Graver, "changed")
	say(c.Fixed, "fixed")
	say(f.all(SectionNoLongerHigh), "no longer at high risk")
	say(c.Failed, "failed")
	say(f.NewlyUnreached, strings.ToLower(newlyUnreached(f.Previous == nil)))
	say(c.NotScanned, "not scanned")
	if len(said) == 0 {
		say(c.Unknown, "could not be compared")
	}
	if len(said) == 0 {
		said = append(said, "nothing has changed")
	}
	return plain.Cut(fmt.Sprintf("%s/%s: %s", f.List, f.Task, strings.Join(said, ", ")), mostTitle)
}

// part is a section of the text.
type part struct {
	title string
	lines []string
	all   int // how many lines it would have
}

// mostLines is how many lines of a section the text has at most.
const mostLines = 40

// Text is the report for chats, cut to most bytes: as many lines of each section as there is room for, and how many are left out.
func (f Facts) Text(most int) string {
	parts := f.parts()
	shown := make([]int, len(parts))
	text := f.filled(parts, shown)
	for range mostLines {
		for i, p := range parts {
			if shown[i] == len(p.lines) {
				continue
			}
			shown[i]++
			if longer := f.filled(parts, shown); len(longer) <= most {
				text = longer
			} else {
				shown[i]--
			}
		}
	}
	return plain.Cut(text, most)
}

// filled has the first lines of each part, as many as shown says.
func (f Facts) filled(parts []part, shown []int) string {
	lines, cut := f.Head(), false
	for i, p := range parts {
		if p.all == 0 {
			continue
		}
		left := p.all - shown[i]
		cut = cut || left > 0
		if shown[i] == 0 {
			lines = append(lines, p.title)
			continue
		}
		lines = append(lines, "", p.title+":")
		for _, line := range p.lines[:shown[i]] {
			lines = append(lines, "- "+line)
		}
		if left > 0 {
			lines = append(lines, fmt.Sprintf("- and %d more", left))
		}
	}
	if cut {
		lines = append(lines, "", "The rest: picket report "+f.List+" "+f.Task)
	}
	return strings.Join(lines, "\n")
}

// Head says how much was looked at, and what is to be known before the rest is read.
func (f Facts) Head() []string {
	c := f.Counts
	lines := []string{fmt.Sprintf("%s: %d online, %d offline, %d failed, %d not scanned. %d at high risk, %s open, %d accepted.",
		plain.Count(c.Assets, "asset", "assets"), c.Online, c.Offline, c.Failed, c.NotScanned, c.HighRisk,
		plain.Count(c.Findings-c.Accepted, "finding", "findings"), c.Accepted)}
	if f.nothingScanned() {
		lines = append([]string{"NOTHING WAS SCANNED: this says nothing about the risk."}, lines...)
	}
	if f.Previous == nil {
		lines = append(lines, "This is the first report of "+f.List+": all findings are new.")
	} else {
		lines = append(lines, "Compared with "+*f.Previous+".")
	}
	if c.Unknown > 0 {
		lines = append(lines, plain.Count(c.Unknown, "finding", "findings")+" could not be compared: an asset was not scanned, or a list was cut.")
	}
	for _, note := range f.Notes {
		lines = append(lines, plain.Line(note, mostError))
	}
	return lines
}

// parts are the sections, what matters most first.
func (f Facts) parts() []part {
	high, gone := f.all(SectionNewlyHigh), f.all(SectionNoLongerHigh)
	parts := []part{
		{fmt.Sprintf("Newly at high risk (%d)", high), f.NewlyHigh, high},
		{fmt.Sprintf("Failed (%d)", f.Counts.Failed), f.reasonLines(), len(f.Reasons)},
		{fmt.Sprintf("New (%d)", f.Counts.New), f.newLines(), max(len(f.Groups), min(f.Counts.New, 1))},
		{fmt.Sprintf("Changed (%d)", f.all(SectionChanged)), lines(f.Changed), len(together(f.Changed, Finding.Difference)) + f.Omitted[SectionChanged]},
		{fmt.Sprintf("Fixed (%d)", f.Counts.Fixed), lines(f.Fixed), len(together(f.Fixed, Finding.Difference)) + f.Omitted[SectionFixed]},
		{fmt.Sprintf("No longer at high risk (%d)", gone), f.NoLongerHigh, gone},
		{fmt.Sprintf("Not reachable (%d, of which %d newly)", f.Counts.Unreached, f.NewlyUnreached), f.Unreached, f.Counts.Unreached},
		{fmt.Sprintf("Not scanned (%d)", f.Counts.NotScanned), f.notScannedLines(), f.Counts.NotScanned},
	}
	if f.nothingScanned() {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return parts
}

func (f Facts) reasonLines() (lines []string) {
	for _, r := range f.Reasons {
		lines = append(lines, plain.Line(fmt.Sprintf("%d× %s (%s)", r.Count, r.Text, r.Names()), mostError))
	}
	return lines
}

func (f Facts) newLines() (lines []string) {
	for _, g := range f.Groups {
		lines = append(lines, brief(Finding{ID: g.ID, Severity: g.Severity, CVSS: g.CVSS, KEV: g.KEV, Title: g.Title, Package: g.Package, FixedIn: g.FixedIn}, onAssets(someOf(g.Assets, g.On), g.On)))
	}
	return lines
}

// lines are findings, those together of which the same is to be said.
func lines(list []Finding) (lines []string) {
	for _, row := range together(list, Finding.Difference) {
		line := brief(row.Finding, onAssets(row.Where, row.Assets))
		if row.Said != "" {
			line += " (" + row.Said + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// onAssets says how many assets stand behind some names, where there are several.
func onAssets(names string, all int) string {
	if all > 1 {
		return fmt.Sprintf("on %d assets: %s", all, names)
	}
	return names
}

func (f Facts) notScannedLines() (lines []string) {
	for _, one := range f.NotScanned {
		lines = append(lines, one.Asset+": "+one.Why)
	}
	return lines
}

// brief is a finding in a line.
func brief(f Finding, where string) string {
	said := f.Severity
	if f.CVSS > 0 {
		said += " " + strconv.FormatFloat(f.CVSS, 'g', -1, 64)
	}
	if f.KEV {
		said += ", exploited"
	}
	line := fmt.Sprintf("%s (%s) %s", f.ID, said, plain.Line(cmp.Or(f.Package, f.Title), 120))
	if f.FixedIn != "" {
		line += ", fixed in " + plain.Line(f.FixedIn, 60)
	}
	return strings.TrimRight(line, " ") + ", " + where
}

// Difference says what a changed finding was; "" of any other.
func (f Finding) Difference() string {
	said := []string{}
	for _, name := range []string{"id", "severity", "cvss", "package", "location", "fixed_in"} {
		if was, ok := f.Was[name]; ok {
			if was == 0.0 {
				was = ""
			}
			said = append(said, strings.ReplaceAll(name, "_", " ")+" was "+cmp.Or(plain.Line(fmt.Sprint(was), 120), "not known"))
		}
	}
	if f.Was["kev"] == false {
		said = append(said, "exploited now")
	}
	switch until, ended := f.Was["until"]; {
	case ended:
		said = append(said, fmt.Sprintf("accepted until %v", until))
	case f.Was["accepted"] == true:
		said = append(said, "was accepted")
	case f.Was["accepted"] == false:
		said = append(said, "accepted now")
	}
	return strings.Join(said, ", ")
}
