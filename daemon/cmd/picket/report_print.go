// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/report"
)

// mostReported is how many rows of a section a terminal shows.
const mostReported = 20

// printReport shows the head of each section.
func printReport(w io.Writer, r *report.Report) error {
	f, err := r.Facts(1 << 20)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, clean(f.Title()))
	for _, line := range f.Head() {
		fmt.Fprintln(w, clean(line))
	}
	failed := table{{"FAILED", "ASSETS", "ERROR"}}
	for _, reason := range f.Reasons[:min(mostReported, len(f.Reasons))] {
		failed.row(strconv.Itoa(reason.Count), reason.Names(), reason.Text)
	}
	failed.left(r, len(f.Reasons)-mostReported)
	section(w, failed)
	names(w, r, "NEWLY AT HIGH RISK", f.NewlyHigh, r.NewlyHigh.Count)
	for _, t := range r.Tables(mostReported) {
		heading := map[string]string{
			report.SectionNew: "NEW", report.SectionChanged: "CHANGED", report.SectionFixed: "FIXED", report.SectionOpen: "OPEN", report.SectionAccepted: "ACCEPTED",
		}[t.Section]
		if t.Section == report.SectionOpen && r.Previous == "" {
			continue // all is new
		}
		rows := table{{heading, "SEVERITY", "PACKAGE", "FIXED IN", "WHERE"}}
		for _, row := range t.Rows {
			severity, where, title := row.Severity, row.Where, row.Title
			if row.CVSS > 0 {
				severity += " " + strconv.FormatFloat(row.CVSS, 'g', -1, 64)
			}
			if row.Assets > 1 {
				where = fmt.Sprintf("%d: %s", row.Assets, where)
			}
			if row.KEV {
				title = strings.TrimSuffix("exploited: "+title, ": ")
			}
			rows.row(row.ID, severity, row.Packages, row.Fixes, where)
			rows.note(title)
			rows.note(row.Said)
		}
		rows.left(r, t.Left)
		section(w, rows)
	}
	names(w, r, "NO LONGER AT HIGH RISK", f.NoLongerHigh, r.NoLongerHigh.Count)
	names(w, r, strings.ToUpper(r.NewlyUnreachedTitle()), r.NewlyUnreached.First(mostReported), r.NewlyUnreached.Count)
	names(w, r, "NOT REACHABLE, AS BEFORE", r.StillUnreached.First(mostReported), r.StillUnreached.Count)
	missing := table{{"NOT SCANNED", "WHY"}}
	for _, one := range f.NotScanned[:min(mostReported, len(f.NotScanned))] {
		missing.row(one.Asset, one.Why)
	}
	missing.left(r, r.NotScanned.Count-mostReported)
	section(w, missing)
	return nil
}

// names lists assets under a heading.
func names(w io.Writer, r *report.Report, heading string, list []string, all int) {
	t := table{{heading}}
	shown := list[:min(mostReported, len(list))]
	for _, name := range shown {
		t.row(name)
	}
	t.left(r, all-len(shown))
	section(w, t)
}

// left says how much of a report is not shown, if any, and how to see it.
func (t *table) left(r *report.Report, n int) {
	if n > 0 {
		t.row(fmt.Sprintf("and %d more: picket report %s %s --csv", n, r.List, r.Task))
	}
}
