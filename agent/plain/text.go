// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package plain writes what people and logs are shown, so that nothing in it acts: texts of others, durations, JSON.
//
// It needs the standard library alone, so that every package may use it. What must show a hostile text rather than clean it has
// its own way: the command escapes it, the audit puts marks into it.
package plain

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// sequences are what a terminal acts on: colours and cursor movements, titles and links (ECMA-48: CSI, OSC).
var sequences = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)?")

// Line makes one line of a text: UTF-8, with one space in the place of all that is no character to be seen (space, control,
// format, line end), without terminals' sequences, and cut to most bytes. most is 0 for no limit, else 3 at least.
func Line(s string, most int) string {
	var b strings.Builder
	gap := false
	for _, r := range withoutSequences(s) {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		if b.WriteRune(r); most > 0 && b.Len() > most {
			return Cut(b.String(), most)
		}
	}
	return b.String()
}

// Text is Line for a text of several lines: line feeds and tabs stay, and what joins characters to one.
func Text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(withoutSequences(s), "\uFFFD"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf):
			return -1
		case unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		}
		return r
	}, s))
}

func withoutSequences(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return sequences.ReplaceAllString(s, "")
}

// Cut cuts a text to most bytes, 3 at least, between two characters, and marks that with an ellipsis.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark = "…"
	n := most - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// Duration is Go's form of a duration without units that are zero at its end: 24h, not 24h0m0s.
func Duration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// About is a duration as people say it, to two digits or so.
func About(d time.Duration) string {
	switch {
	case d < time.Minute:
		d = d.Round(time.Second)
	case d < time.Hour:
		d = d.Round(10 * time.Second)
	default:
		d = d.Round(time.Minute)
	}
	return Duration(d)
}

// Count is a number with the word that goes with it.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// JSON encodes v, with the characters that HTML knows as they are: facts come back to the letter.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Moment is the form of PICKET_TIME: RFC 3339 in UTC, with microseconds.
const Moment = "2006-01-02T15:04:05.000000Z07:00"

// LogHandler writes JSON lines with the names that journald and the audit have, so that whoever reads both needs to know one form.
// They have no PICKET_EVENT, by which records of the audit are known.
func LogHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.MessageKey:
			a.Key = "MESSAGE"
		case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
			return slog.String("PICKET_TIME", a.Value.Time().UTC().Format(Moment))
		case a.Key == slog.LevelKey:
			level, _ := a.Value.Any().(slog.Level)
			return slog.String("PRIORITY", strconv.Itoa(Priority(level)))
		default:
			a.Key = "PICKET_" + strings.ToUpper(a.Key)
		}
		return a
	}})
}

// Priority is a level as syslog and journald count: 3 is an error, 4 a warning, 6 all else.
func Priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	}
	return 6
}
