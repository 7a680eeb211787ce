// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
)

// table lays out rows in columns. The first row is the heading.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

// note adds what is longer than a column under the last row, if there is anything.
func (t *table) note(text string) {
	if text != "" {
		*t = append(*t, []string{text})
	}
}

// proseColumns are the headings of columns that are cut where a terminal is too narrow; all others stay whole, because they are
// copied.
var proseColumns = map[string]bool{"SUMMARY": true, "FOUND": true}

// leastProse is the narrowest that a column of prose is cut to, in columns of the terminal.
const leastProse = 10

// print pads by what a terminal shows: a Chinese character is two columns wide. On a terminal no line is longer than it is wide, as
// far as cutting prose makes it so.
func (t table) print(w io.Writer) {
	paint := isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t.printWithin(w, terminalWidth(w), paint)
}

func (t table) printWithin(w io.Writer, wide int, paint bool) {
	widths, total := make([]int, len(t[0])), 2*(len(t[0])-1)
	for _, row := range t {
		for i := range row {
			row[i] = clean(row[i])
			if !t.isNote(row) {
				widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
			}
		}
	}
	for _, n := range widths {
		total += n
	}
	for i, heading := range t[0] {
		if wide > 0 && total > wide && proseColumns[heading] {
			cut := min(total-wide, max(0, widths[i]-leastProse))
			widths[i], total = widths[i]-cut, total-cut
		}
	}
	for n, row := range t {
		if t.isNote(row) {
			text := "    " + row[0]
			if wide > 0 {
				text = runewidth.Truncate(text, wide, "…")
			}
			fmt.Fprintln(w, text)
			continue
		}
		var line strings.Builder
		for i, cell := range row {
			cell = runewidth.Truncate(cell, widths[i], "…")
			text := cell
			if paint && n == 0 {
				text = "\x1b[1m" + cell + "\x1b[0m"
			} else if color := colors[cell]; paint && color != "" {
				text = color + cell + "\x1b[0m"
			}
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func (t table) isNote(row []string) bool { return len(row) == 1 && len(t[0]) > 1 }

// colors are those of the words that a reader looks for.
var colors = map[string]string{
	"FINISHED": "\x1b[32m", "NOTIFIED": "\x1b[32m", "sent": "\x1b[32m",
	"FAILED": "\x1b[31m", "dead": "\x1b[31m", "lost": "\x1b[31m",
	"unknown": "\x1b[33m", "parked": "\x1b[33m",
}

// section prints rows under a blank line, if there are any below the heading.
func section(w io.Writer, t table) {
	if len(t) > 1 {
		fmt.Fprintln(w)
		t.print(w)
	}
}
