// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxError is the API's limit on errors, in bytes.
const maxError = 4 << 10

// escapes are a terminal's sequences: colours and cursor movements, titles and links (ECMA-48: CSI, OSC).
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)?")

// Plain is what a program wrote to a terminal as the API takes it for an error: UTF-8 without escape sequences and other control
// characters but line feeds and tabs, cut to 4 KiB. What has nothing to show is told so, and an empty text stays empty.
func Plain(s string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), ""))
	if text = strings.TrimSpace(text); text == "" && s != "" {
		return "(nothing that can be shown)"
	}
	if len(text) > maxError {
		const mark = "…"
		text = text[:maxError-len(mark)]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		text += mark
	}
	return text
}
