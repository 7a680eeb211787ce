// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTidyIsOneShortPrintableLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		got := tidy(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\t\x00\x1b") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
