// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// factsDigest tells results apart: two are the same when their states are, and their facts are equal as JSON (see
// canonicalFacts).
func factsDigest(state State, facts json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(state))
	h.Write([]byte{0}) // stands in no state and in no JSON, so that the two cannot run into each other
	h.Write(canonicalFacts(facts))
	return hex.EncodeToString(h.Sum(nil))
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
