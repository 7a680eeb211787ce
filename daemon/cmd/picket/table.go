// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/picketd/picket/sockapi/client"
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
var proseColumns = map[string]bool{"SUMMARY": true}

// wrappedColumns are the headings of last columns that go on below, word by word: what is wrong is read to its end.
var wrappedColumns = map[string]bool{"FOUND": true, "ERROR": true, "MESSAGE": true, "WHERE": true}

const (
	leastProse = 10 // columns of the terminal: the narrowest that prose is made
	mostNote   = 3  // lines of a note on a terminal
	gap        = 2  // columns between two cells
	foldedAt   = 4  // where cells go on for which a line has no room, and where notes begin
)

// print pads by what a terminal shows: a Chinese character is two columns wide. On a terminal a row goes on below where it has no
// room, and no line is longer than the terminal is wide, but for a single word that is.
func (t table) print(w io.Writer) {
	paint := isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t.printWithin(w, terminalWidth(w), paint)
}

func (t table) printWithin(w io.Writer, wide int, paint bool) {
	for _, row := range t {
		for i := range row {
			row[i] = clean(row[i])
		}
	}
	widths := t.widths(wide)
	for n, row := range t {
		if t.isNote(row) {
			for _, line := range noteLines(row[0], wide-foldedAt) {
				fmt.Fprintln(w, strings.Repeat(" ", foldedAt)+line)
			}
			continue
		}
		color := func(cell string) string { return colors[cell] }
		if n == 0 {
			color = func(string) string { return bold }
		}
		if !paint {
			color = func(string) string { return "" }
		}
		fmt.Fprintln(w, t.lay(row, widths, wide, color))
	}
}

// widths are those of the columns. One long name makes no column wide: it stands on a line of its own.
func (t table) widths(wide int) []int {
	widths, least := make([]int, len(t[0])), gap*(len(t[0])-1)
	for _, row := range t {
		for i := range row {
			if !t.isNote(row) {
				widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
			}
		}
	}
	for i, n := range widths {
		if t.bends(i) {
			n = min(n, leastProse)
		}
		least += n
	}
	if room := wide - least + widths[0]; wide > 0 && len(widths) > 2 && widths[0] > room {
		fits := 0
		for _, row := range t {
			if n := runewidth.StringWidth(row[0]); n <= room && !t.isNote(row) {
				fits = max(fits, n)
			}
		}
		if fits > 0 {
			widths[0] = fits
		}
	}
	return widths
}

// lay lays out a row, in more than one line where it has no room.
func (t table) lay(row []string, widths []int, wide int, color func(string) string) string {
	var b strings.Builder
	end, begin := 0, 0 // of what is written, and of the next cell
	below := false     // the next cell stands on another line
	for i, cell := range row {
		need := widths[i]
		if t.bends(i) {
			need = min(need, leastProse)
		}
		if i > 0 && wide > 0 && begin+need > wide {
			begin, below = foldedAt, true
		}
		if cell != "" {
			if below || i > 0 && end > begin-gap {
				b.WriteString("\n")
				end, below = 0, false
			}
			if last := i == len(row)-1; wide > 0 && last && t.wraps(i) {
				cell = strings.Join(wrap(cell, wide-begin), "\n"+strings.Repeat(" ", begin))
			} else if wide > 0 && t.bends(i) {
				cell = runewidth.Truncate(cell, wide-begin, "…")
			}
			b.WriteString(strings.Repeat(" ", begin-end))
			if c := color(row[i]); c != "" {
				b.WriteString(c + cell + "\x1b[0m")
			} else {
				b.WriteString(cell)
			}
			end = begin + runewidth.StringWidth(cell)
		}
		begin += widths[i] + gap
	}
	return b.String()
}

// bends reports whether a column may be made narrower: it is the last, and prose.
func (t table) bends(i int) bool {
	return i == len(t[0])-1 && (proseColumns[t[0][i]] || t.wraps(i))
}

// wraps reports whether a column goes on below: what stands beside a name, too.
func (t table) wraps(i int) bool { return wrappedColumns[t[0][i]] || len(t[0]) == 2 && i == 1 }

// wrap breaks a text into lines at its blanks. A word that is too long stays whole, because it may be copied.
func wrap(text string, wide int) []string {
	lines := []string{}
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && runewidth.StringWidth(lines[last])+1+runewidth.StringWidth(word) <= wide {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func (t table) isNote(row []string) bool { return len(row) == 1 && len(t[0]) > 1 }

// noteLines are a note on a terminal that leaves it so many columns, cut to what mostNote lines hold.
func noteLines(text string, wide int) []string {
	if wide <= 0 {
		return []string{text}
	}
	lines := wrap(text, wide)
	if len(lines) > mostNote {
		lines = append(lines[:mostNote-1], strings.Join(lines[mostNote-1:], " "))
	}
	for i := range lines {
		lines[i] = runewidth.Truncate(lines[i], wide, "…")
	}
	return lines
}

const bold = "\x1b[1m"

// colors are those of the words that a reader looks for.
var colors = map[string]string{
	client.StateFinished: "\x1b[32m", client.StateNotified: "\x1b[32m", client.DeliverySent: "\x1b[32m",
	client.StateFailed: "\x1b[31m", client.DeliveryDead: "\x1b[31m", client.StatusLost: "\x1b[31m",
	client.DeliveryUnknown: "\x1b[33m", client.DeliveryParked: "\x1b[33m",
}

// section prints rows under a blank line, if there are any below the heading.
func section(w io.Writer, t table) {
	if len(t) > 1 {
		fmt.Fprintln(w)
		t.print(w)
	}
}
