// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"regexp"
	"strings"
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
