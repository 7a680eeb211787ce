// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainIsWhatTheAPITakes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":         "",
		"no route": "no route",
		"\x1b[31mFATAL\x1b[0m no \ttemplates\r\n":    "FATAL no \ttemplates",
		"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ and": "link and",
		"a\x00b\xffc\u0085d":                         "ab\uFFFDcd",
		"\x1b[0m":                                    "(nothing that can be shown)",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := Plain(strings.Repeat("漏", 4000)); len(got) > maxError || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("a long one has %d bytes", len(got))
	}
}
