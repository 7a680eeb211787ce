// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
)

// mostInMarkdown is how many rows of a section a page has.
const mostInMarkdown = 100

// Markdown writes the report as a page: the head of each section.
func (r *Report) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	f := r.facts(mostInMarkdown)
	fmt.Fprintf(b, "# %s\n\n%s\n", escaped(f.Title()), escaped(r.At.UTC().Format(verdict.TimeForm)))
	for _, line := range f.Head() {
		fmt.Fprintf(b, "\n%s\n", escaped(line))
	}
	table := func(title string, count, left int, columns []string, rows [][]string) {
		if count == 0 {
			return
		}
		fmt.Fprintf(b, "\n## %s (%d)\n\n| %s |\n|%s\n", title, count, strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
		for _, row := range rows {
			fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		}
		if left > 0 {
			fmt.Fprintf(b, "\nand %d more: picket report %s %s --csv\n", left, escaped(r.List), escaped(r.Task))
		}
	}
	assets := func(names []string) (rows [][]string) {
		for _, name := range names {
			rows = append(rows, []string{code(name)})
		}
		return rows
	}
	var failed, notScanned [][]string
	for _, reason := range f.Reasons {
		failed = append(failed, []string{fmt.Sprint(reason.Count), escaped(reason.Text), escaped(reason.Names())})
	}
	for _, one := range f.NotScanned {
		notScanned = append(notScanned, []string{code(one.Asset), escaped(one.Why)})
	}
	table("Failed", f.Counts.Failed, r.Reasons.groups()-len(failed), []string{"Assets", "Reason", "For example"}, failed)
	table("Newly at high risk", r.NewlyHigh.Count, f.Omitted[SectionNewlyHigh], []string{"Asset"}, assets(f.NewlyHigh))
	for _, t := range r.Tables(mostInMarkdown) {
		columns := []string{"Severity", "Finding", "Title", "Package", "Fixed in", "Assets"}
		if t.Last != "" {
			columns = append(columns, t.Last)
		}
		table(t.Title, t.Count, t.Left, columns, findingRows(t))
	}
	table("No longer at high risk", r.NoLongerHigh.Count, f.Omitted[SectionNoLongerHigh], []string{"Asset"}, assets(f.NoLongerHigh))
	table("Not reachable", r.Counts.Unreached, f.Omitted[SectionUnreached], []string{"Asset"}, assets(f.Unreached))
	table("Not scanned", r.NotScanned.Count, f.Omitted[SectionNotScanned], []string{"Asset", "Why"}, notScanned)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

func findingRows(t Table) (rows [][]string) {
	for _, one := range t.Rows {
		where := escaped(one.Where)
		if one.Assets > 1 {
			where = fmt.Sprintf("%d: %s", one.Assets, where)
		}
		row := []string{severityCell(one.Severity, one.CVSS, one.KEV), linked(one.ID, one.URL), escaped(one.Title), code(one.Packages), escaped(one.Fixes), where}
		if t.Last != "" {
			row = append(row, escaped(one.Said))
		}
		rows = append(rows, row)
	}
	return rows
}

// whyAccepted says why a finding does not count, until when, and by whose word.
func (f Finding) whyAccepted() string {
	a := f.Acceptance
	if a == nil {
		return ""
	}
	said := cmp.Or(a.Reason, "no reason is recorded")
	if a.Until != "" {
		said += ", until " + a.Until
	}
	if a.By != "" {
		said += ", by " + a.By
	}
	return said
}

func severityCell(severity string, cvss float64, kev bool) string {
	said := strings.TrimSpace(severity + " " + score(cvss))
	if kev {
		said += ", exploited"
	}
	return escaped(said)
}

// linked is an id with the page that says more.
func linked(id, url string) string {
	if url == "" {
		return escaped(id)
	}
	return fmt.Sprintf("[%s](<%s>)", escaped(id), strings.NewReplacer("|", "%7C", "\\", "%5C").Replace(url))
}

// marks are what Markdown, and what GitHub and GitLab make of it, may act on.
var marks = func() *strings.Replacer {
	pairs := []string{"www.", "www\\.", "://", "\\://"}
	for _, mark := range "\\`*_[]<>#!|~&@$" {
		pairs = append(pairs, string(mark), "\\"+string(mark))
	}
	return strings.NewReplacer(pairs...)
}()

// escaped is a text of others in one line, in which nothing acts.
func escaped(text string) string { return marks.Replace(plain.Line(text, 0)) }

// code is a name that is copied, as it is.
func code(name string) string {
	name = strings.ReplaceAll(plain.Line(name, 0), "|", "\\|")
	if name == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(name, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		name = " " + name + " "
	}
	return fence + name + fence
}
