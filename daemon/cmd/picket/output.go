// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/picketd/picket/agent/plain"
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
	b, err := plain.JSON(v)
	if err != nil {
		return fmt.Errorf("cannot write the answer as JSON: %w", err)
	}
	_, err = forTerminal(w).Write(append(b, '\n'))
	return err
}

// forTerminal is w, or if that is a terminal, a writer on it of whose text nothing steers it: such characters are written as \uXXXX.
// A character that two calls to Write share stays as it is.
func forTerminal(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	return terminalWriter{w}
}

type terminalWriter struct{ io.Writer }

func (t terminalWriter) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for r := range strings.SplitSeq(string(p), "") {
		if c, _ := utf8.DecodeRuneInString(r); c != '\n' && c < 0x10000 && !unicode.IsGraphic(c) {
			r = fmt.Sprintf(`\u%04x`, c)
		}
		b.WriteString(r)
	}
	if _, err := t.Writer.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// answer prints v as JSON if that was asked for, else calls people; nothing where err is the call's.
func answer(c *cli.Context, v any, err error, people func(w io.Writer)) error {
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(c.App.Writer, v)
	}
	people(c.App.Writer)
	return nil
}

// done prints the answer to a call that changed something: JSON if that was asked for, a line on a terminal, else nothing.
func done(c *cli.Context, v any, err error, format string, args ...any) error {
	return answer(c, v, err, func(w io.Writer) {
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

// clock is a time in this machine's zone, in the one form that people see.
func clock(t time.Time) string { return t.Local().Format(time.DateTime) }

func clockOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return clock(*t)
}

// millis is a duration of the API as people read it.
func millis(ms int64) string { return plain.Duration(time.Duration(ms) * time.Millisecond) }

// shortToken is the end of a token, by which people tell those of one asset apart; the beginning is a time that they share.
func shortToken(token int64) string {
	s := strconv.FormatInt(token, 10)
	if len(s) > 6 {
		s = "…" + s[len(s)-6:]
	}
	return s
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
