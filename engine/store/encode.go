// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/picketd/picket/agent/plain"
)

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

// digestBytes is how much of a SHA-256 tells one content from another: half, as each stands in every ticket several times.
const digestBytes = 16

// factsDigest tells results apart: two are the same when their states are, and their facts are equal as JSON (see
// canonicalFacts).
func factsDigest(state State, facts json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(state))
	h.Write([]byte{0}) // stands in no state and in no JSON, so that the two cannot run into each other
	h.Write(canonicalFacts(facts))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:digestBytes])
}

// canonicalFacts is one form for all that are equal as JSON: the keys of objects in any order, strings by what they say,
// numbers by their literal, so 1.0 is not 1. None are as good as {}. What is not JSON stands for itself.
func canonicalFacts(facts json.RawMessage) []byte {
	if len(facts) == 0 {
		return []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(facts))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return facts
	}
	canonical, err := json.Marshal(v) // sorts keys, and writes a json.Number as it was read
	if err != nil {
		return facts
	}
	return canonical
}
