// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// visible writes out what nobody sees in a page: marks that turn the reading direction, blanks without width, control characters.
// All texts of others go through it, wherever they stand; our own pages have none of these.
func visible(html []byte) []byte {
	out := make([]byte, 0, len(html)+len(html)/64)
	for len(html) > 0 {
		r, n := utf8.DecodeRune(html)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, html[0])
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			out = append(out, html[:n]...)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		html = html[n:]
	}
	return out
}
