// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

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
