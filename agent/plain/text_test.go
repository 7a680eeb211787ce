// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLineIsOneCleanLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\r\n\t b\x00\x07c":           "a b c",
		"\x1b[31;1mred\x1b[0m":         "red",
		"a\u202egnp.exe":               "a gnp.exe",
		"  两个\u2028字 ":                 "两个 字",
		strings.Repeat("é", 200):       strings.Repeat("é", 98) + "…",
		strings.Repeat("x", 200):       strings.Repeat("x", 200),
		strings.Repeat("x", 200) + " ": strings.Repeat("x", 200),
	} {
		if got := Line(in, 200); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if long := strings.Repeat("x", 10_000); Line(long, 0) != long {
		t.Error("without a limit it is cut")
	}
}

func TestLineBearsAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		most := rapid.IntRange(3, 40).Draw(t, "most")
		line := Line(s, most)
		if len(line) > most || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) || strings.Contains(line, "  ") {
			t.Fatalf("%q became the line %q", s, line)
		}
		text := Text(s)
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q became the text %q", s, text)
		}
		if cut := Cut(text, most); len(cut) > most || !utf8.ValidString(cut) || len(text) <= most && cut != text {
			t.Fatalf("%q was cut to %q", text, cut)
		}
	})
}

func TestTextKeepsItsLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		" one\r\n\ttwo  three\n":                                 "one\n\ttwo  three",
		"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ and \x1b[2Jmore": "link and more",
		"a\x00b\xffc\u0085d\u202ee\u2028f":                       "ab\uFFFDcde\nf",
		"👩\u200d🔬 \x1b":                                          "👩\u200d🔬",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCutIsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{3: "…", 6: "漏…", 8: "漏…", 9: "漏洞了"} {
		if got := Cut("漏洞了", most); got != want {
			t.Errorf("to %d bytes: %q, want %q", most, got, want)
		}
	}
}
