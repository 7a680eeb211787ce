// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import "github.com/picketd/picket/agent/plain"

// short is up to how many bytes of facts a record is read for a listing, which does not show them.
const short = 1 << 10

// brief is a record without its facts, for listings; empty when they are short.
func brief(facts []byte, without any) (string, error) {
	if len(facts) <= short {
		return "", nil
	}
	return encode(without)
}

// encode is JSON as it stands in Redis: facts stay as they are.
func encode(v any) (string, error) {
	b, err := plain.JSON(v)
	return string(b), err
}

// flag is how the scripts have a boolean.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// set goes to a script as ",a,b,", so that a word is looked for with its commas.
func set[T ~string](words []T) string {
	b := ","
	for _, w := range words {
		b += string(w) + ","
	}
	return b
}
