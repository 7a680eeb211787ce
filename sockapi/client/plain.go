// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "github.com/picketd/picket/agent/plain"

// maxError is the API's limit on errors, in bytes.
const maxError = 4 << 10

// Plain is what a program wrote to a terminal as the API takes it for an error: UTF-8 without escape sequences and other control
// characters but line feeds and tabs, cut to 4 KiB. What has nothing to show is told so, and an empty text stays empty.
func Plain(s string) string {
	if text := plain.Text(s); text != "" || s == "" {
		return plain.Cut(text, maxError)
	}
	return "(nothing that can be shown)"
}
