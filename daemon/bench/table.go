// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// row is a figure beside its floor. One without a target is there to be read only.
type row struct {
	id, figure, picket, floor, ratio, target string
	ok                                       bool
}

// row is a rate's, whose ratio is to be least or more.
func (c compared) row(id, figure string, least float64) row {
	ratio := c.ratio()
	return row{id, figure, perSecond(median(c.picket)), perSecond(median(c.floor)), times(ratio), fmt.Sprintf("≥ %.2g×", least), ratio >= least}
}

func (r row) verdict() string {
	switch {
	case r.target == "":
		return ""
	case r.ok:
		return "ok"
	}
	return "misses its target"
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
func perSecond(r float64) string          { return fmt.Sprintf("%.0f/s", r) }
func megabytes(mb float64) string         { return fmt.Sprintf("%.1f MB", mb) }
func times(ratio float64) string          { return fmt.Sprintf("%.2f×", ratio) }

// printTable prints Markdown whose columns are aligned.
func printTable(w io.Writer, rows []row) {
	cells := [][]string{{"", "figure", "Picket", "floor", "ratio", "target", ""}}
	for _, r := range rows {
		cells = append(cells, []string{r.id, r.figure, r.picket, r.floor, r.ratio, r.target, r.verdict()})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for n, line := range cells {
		for i, cell := range line {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
		if n > 0 {
			continue
		}
		for _, width := range widths {
			fmt.Fprint(w, "|", strings.Repeat("-", width+2))
		}
		fmt.Fprintln(w, "|")
	}
}
