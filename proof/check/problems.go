// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"

	"github.com/picketd/picket/proof/history"
)

// refusals are the codes by which a call can be refused, as the API's document has them.
var refusals = []string{
	"BAD_REQUEST", "INVALID", "INVALID_ASSET", "INVALID_TASK", "UNKNOWN_FLOW", "UNKNOWN_STEP", "UNKNOWN_CHANNEL", "FORBIDDEN", "NOT_FOUND",
	"METHOD_NOT_ALLOWED", "TICKET_NOT_FOUND", "TICKET_DAMAGED", "TASK_NOT_FOUND", "CLAIM_NOT_FOUND", "INTENT_NOT_FOUND", "HOST_NOT_FOUND",
	"HOST_ALIVE", "STALE_TOKEN", "CLAIM_LOST", "ILLEGAL_TRANSITION", "STEP_CONFLICT", "CONTENT_CONFLICT", "FLOW_MISMATCH", "BODY_TOO_LARGE",
	"LOCK_HELD", "TOO_MANY_CLAIMS", "TOO_MANY_CALLS", "STORE_UNAVAILABLE", "REPLICAS_MISSING", "OUTBOX_UNAVAILABLE", "DRAINING",
}

// problems looks whether each refusal has a code that is known, and a sentence, and whether bad input was refused. That what was refused
// has left no trace the registers show. (G11)
func (c *checker) problems() {
	for _, one := range c.calls {
		if one.status >= 300 && (!slices.Contains(refusals, one.code) || one.out.Detail == "") {
			c.violate("G11", one.ticket(), one.records(), "refused without a code that is known, or without a sentence: %s", one)
		}
		if wrong := c.wrong(one); wrong != "" && one.ok() {
			c.violate("G11", one.ticket(), one.records(), "accepted, though in its body %s: %s", wrong, one)
		}
	}
}

// body is what a call's body must have, and may have.
type body struct{ must, may []string }

var bodies = map[string]body{
	toClaim:   {[]string{"asset", "task"}, []string{"flow", "wait", "pid", "heartbeat", "max_hold", "request"}},
	toStep:    {[]string{"step", "state"}, []string{"facts", "summary", "finish"}},
	toFail:    {[]string{"step", "error"}, []string{"final"}},
	toNotify:  {[]string{"title", "text", "severity"}, []string{"facts", "channels"}},
	toFinish:  {nil, []string{"summary"}},
	toReopen:  {[]string{"reason"}, nil},
	toBreak:   {[]string{"reason"}, nil},
	toRetry:   {[]string{"reason"}, []string{"channel"}},
	toDiscard: {[]string{"reason"}, []string{"channel"}},
	toSettle:  {[]string{"reason"}, []string{"channel"}},
}

// severities are how bad a notification can say that it is.
var severities = []string{"info", "low", "medium", "high", "critical"}

// fails are what can fail: a step, or one of the two calls that may come next like one.
var fails = append([]string{"notify", "finish"}, steps...)

// titleMost is how long a title may be, in bytes.
const titleMost = 256

// wrong says what cannot be right in a call's body, whatever the ticket is; empty: nothing that is known here.
func (s *story) wrong(c *call) string {
	b, known := bodies[c.kind]
	if !known {
		return ""
	}
	for i, name := range c.names {
		switch {
		case slices.Contains(c.names[:i], name):
			return name + " stands twice"
		case !slices.Contains(b.must, name) && !slices.Contains(b.may, name):
			return name + " is no field"
		}
	}
	for _, name := range b.must {
		if !slices.Contains(c.names, name) {
			return name + " is missing"
		}
	}
	channels := c.in.Channels
	if c.in.Channel != "" {
		channels = append(channels, c.in.Channel)
	}
	strange := func(name string) bool {
		return !slices.ContainsFunc(s.setup.Channels, func(known history.Channel) bool { return known.Name == name })
	}
	switch facts := c.in.Facts; {
	case c.kind == toStep && !slices.Contains(steps, c.in.Step), c.kind == toFail && !slices.Contains(fails, c.in.Step):
		return "the step is unknown"
	case c.kind == toNotify && !slices.Contains(severities, c.in.Severity):
		return "the severity is unknown"
	case slices.ContainsFunc(channels, strange):
		return "a channel is unknown"
	case len(facts) > 0 && facts[0] != '{':
		return "the facts are no object"
	case len(c.in.Title) > titleMost:
		return "the title is too long"
	}
	return ""
}
