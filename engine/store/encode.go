// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

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

// decodeStep reads a record of a step. Almost every answer has a ticket's steps in it, and encoding/json would take most of the
// time for one; so a record that has the form which encode gives it, and no escapes but in its facts, is cut along its names.
func decodeStep(record string) (Step, error) {
	c := cutter{rest: record}
	s := Step{State: State(c.text("{", "state")), Summary: c.text(",", "summary")}
	token, tokenErr := strconv.ParseInt(c.until(`,"token":`, `,"host":`), 10, 64)
	s.Token, s.Host = token, c.until(`"`, `"`)
	at, atErr := time.Parse(time.RFC3339Nano, c.text(",", "at"))
	s.At = at
	facts, isLast := strings.CutPrefix(strings.TrimSuffix(c.rest, "}"), `,"facts":`)
	if c.failed || !isLast || tokenErr != nil || atErr != nil {
		s = Step{}
		err := json.Unmarshal([]byte(record), &s)
		return s, err
	}
	s.Facts = json.RawMessage(facts)
	return s, nil
}

// cutter cuts a text from its front.
type cutter struct {
	rest   string
	failed bool // something was not as it was asked for
}

// until is what stands between a prefix and the next occurrence of an end; both are cut off. A backslash in it is a failure.
func (c *cutter) until(prefix, end string) string {
	rest, ok := strings.CutPrefix(c.rest, prefix)
	value, rest, found := strings.Cut(rest, end)
	if !ok || !found || strings.IndexByte(value, '\\') >= 0 {
		c.failed = true
	}
	c.rest = rest
	return value
}

// text is the string that a member of an object has, whose name must come next.
func (c *cutter) text(before, name string) string { return c.until(before+`"`+name+`":"`, `"`) }
