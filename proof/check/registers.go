// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"maps"
	"slices"
)

// registers looks whether each ticket behaves as a register with one writer at a time: G2, G4 and G5.
func (c *checker) registers() {
	tickets := map[string]bool{}
	for _, one := range c.calls {
		if one.asset != "" && one.task != "" && one.kind != toHistory && (c.only == "" || c.only == one.ticket()) {
			tickets[one.ticket()] = true
		}
	}
	c.report.Counts["tickets"] = len(tickets)
	for _, ticket := range slices.Sorted(maps.Keys(tickets)) {
		ops := c.ops(ticket)
		if c.unseen(ops) {
			c.report.Counts["registers of which no write is seen"]++
			continue
		}
		switch explain(ops, "") {
		case explained:
			c.report.Counts["registers checked"]++
		case givenUp:
			c.report.Counts["registers given up"]++
		case unexplained:
			c.report.Counts["registers checked"]++
			c.blame(ticket, ops)
		}
	}
}

// blame tells of a register that no order explains, by its shortest beginning that none explains.
func (c *checker) blame(ticket string, ops []*op) {
	ends := []int64{}
	for _, o := range ops {
		if o.end != never {
			ends = append(ends, o.end)
		}
	}
	slices.Sort(ends)
	n, _ := slices.BinarySearchFunc(ends, 0, func(end int64, _ int) int {
		if explain(until(ops, end), "") == unexplained {
			return 1
		}
		return -1
	})
	short := until(ops, ends[min(n, len(ends)-1)])
	guarantee := "G4"
	for _, g := range []string{"G2", "G5"} {
		if explain(short, g) == explained {
			guarantee = g
			break
		}
	}
	var last *op
	var shown []int
	for _, o := range fewest(short) {
		if o.call == nil {
			continue
		}
		shown = append(shown, o.call.records()...)
		if o.end != never && (last == nil || o.end > last.end) {
			last = o
		}
	}
	text := "no order of its calls explains what was answered"
	if last != nil {
		text = "no order of the calls before it explains this answer: " + last.call.String()
	}
	if done := doneThough(short); done != nil {
		shown = append(shown, done.call.records()...)
		text += "; it is as if this had been done: " + done.call.String()
	}
	c.violate(guarantee, ticket, shown, "%s", text)
}

// doneThough is the call that was refused as stale, if that it was done all the same explains everything.
func doneThough(ops []*op) *op {
	for i, o := range ops {
		if o.code != "STALE_TOKEN" {
			continue
		}
		done := *o
		done.code, done.maybe = "", true
		if explain(append(slices.Delete(slices.Clone(ops), i, i+1), &done), "") == explained {
			return o
		}
	}
	return nil
}

// until is the history of a register up to a time: what was under way then has no answer yet.
func until(ops []*op, at int64) (all []*op) {
	for _, o := range ops {
		switch {
		case o.begin > at:
		case o.end <= at:
			all = append(all, o)
		case o.kind == toLose:
			cut := *o
			cut.end = at
			all = append(all, &cut)
		case o.kind != toSee:
			open := *o
			open.maybe, open.end, open.view, open.code, open.at, open.adopted = true, never, nil, "", "", false
			all = append(all, &open)
		}
	}
	return all
}

// fewest leaves out of a register that no order explains what only tells, and what may not have happened, as long as none explains it.
func fewest(ops []*op) []*op {
	for i := len(ops) - 1; i >= 0; i-- {
		if o := ops[i]; o.kind != toSee && o.code == "" && !o.maybe {
			continue
		}
		rest := slices.Delete(slices.Clone(ops), i, i+1)
		if explain(rest, "") == unexplained {
			ops = rest
		}
	}
	return ops
}

// String is a call with its answer, for people.
func (c *call) String() string {
	what := c.kind
	switch c.kind {
	case toStep:
		what += " " + c.in.Step + " → " + c.in.State
	case toFail:
		what += " of " + c.in.Step
	case toNotify:
		what += fmt.Sprintf(" %q", c.in.Title)
	}
	answer := fmt.Sprint(c.status)
	switch {
	case c.status == 0:
		answer = "nothing"
	case c.code != "":
		answer += " " + c.code
	case c.out.Ticket != nil:
		answer += " " + c.out.Ticket.State
	}
	if c.out.Replayed {
		answer += ", replayed"
	}
	return fmt.Sprintf("%s on %s by %s at %s answered %s", what, c.ticket(), c.by, c.host, answer)
}
