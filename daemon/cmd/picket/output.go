// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/picketd/picket/sockapi/client"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is that of the terminal w in columns, 0 when it does not tell.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// printJSON prints v as one object on one line. On a terminal, what could steer it is written as \uXXXX, which is the same
// JSON.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // facts come back to the letter
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("cannot write the answer as JSON: %w", err)
	}
	if !isTerminal(w) {
		_, err := w.Write(b.Bytes())
		return err
	}
	for r := range strings.SplitSeq(b.String(), "") {
		if c, _ := utf8.DecodeRuneInString(r); c != '\n' && c < 0x10000 && !unicode.IsGraphic(c) {
			r = fmt.Sprintf(`\u%04x`, c)
		}
		if _, err := io.WriteString(w, r); err != nil {
			return err
		}
	}
	return nil
}

// answer prints v as JSON if that was asked for, else calls people.
func answer(c *cli.Context, v any, people func(w io.Writer)) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	people(c.App.Writer)
	return nil
}

// done prints the answer to a call that changed something: JSON if that was asked for, a line on a terminal, else nothing.
func done(c *cli.Context, v any, format string, args ...any) error {
	return answer(c, v, func(w io.Writer) {
		if isTerminal(w) {
			fmt.Fprintln(w, clean(fmt.Sprintf(format, args...)))
		}
	})
}

// clean makes a value from outside safe to show: what is not a letter, mark, number, sign or space is escaped, so that it
// cannot steer the terminal or turn the reading direction.
func clean(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// table lays out rows in columns. The first row is the heading.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

// print pads by what a terminal shows: a Chinese character is two columns wide.
func (t table) print(w io.Writer) {
	paint := isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i := range row {
			row[i] = clean(row[i])
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
	}
	for n, row := range t {
		var line strings.Builder
		for i, cell := range row {
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

// clock is a time as people here read it, with the zone as a number: names of zones mean several.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

func clockOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return clock(*t)
}

// millis is a duration of the API as people read it: 24h, not 24h0m0s.
func millis(ms int64) string {
	s := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// plural is a number with the word that goes with it.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func holderText(h *client.Holder) string {
	if h == nil {
		return "nobody"
	}
	return fmt.Sprintf("host %s, pid %d, uid %d, task %s, for at least %s more", h.Host, h.PID, h.UID, h.Task, millis(h.RemainingMS))
}

func nextText(next []client.Next) string {
	if len(next) == 0 {
		return "nothing"
	}
	var parts []string
	for _, n := range next {
		if len(n.States) > 0 {
			parts = append(parts, n.Step+" → "+strings.Join(n.States, " or "))
		} else {
			parts = append(parts, n.Step)
		}
	}
	return strings.Join(parts, ", ")
}
