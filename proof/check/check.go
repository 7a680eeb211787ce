// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package check judges a history of the proof. It shares no code with what it judges: it reads the answers as the documents describe
// them, and says which of the guarantees G1 to G12 (docs/guarantees.md) they break. What a document excepts is let pass and counted;
// each such exception is one function with a name.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picketd/picket/proof/history"
)

// rules are what is looked at, with the guarantees that each can find broken.
var rules = []struct {
	of   []string
	look func(*checker)
}{
	{[]string{harness}, (*checker).unique},
	{[]string{"G1"}, (*checker).trust},
	{[]string{"G2", "G4", "G5"}, (*checker).registers},
	{[]string{"G3"}, (*checker).tokens},
	{[]string{"G6"}, (*checker).resume},
	{[]string{"G6"}, (*checker).lists},
	{[]string{"G7"}, (*checker).life},
	{[]string{"G7"}, (*checker).freed},
	{[]string{"G7", "G11"}, (*checker).lives},
	{[]string{"G8"}, (*checker).toldOfLoss},
	{[]string{"G8"}, (*checker).scanners},
	{[]string{"G9", "G10"}, (*checker).delivery},
	{[]string{"G9"}, (*checker).settled},
	{[]string{"G9"}, (*checker).left},
	{[]string{"G10"}, (*checker).heirs},
	{[]string{"G11"}, (*checker).problems},
	{[]string{"G2", "G3", "G4", "G5", "G12"}, (*checker).recorded},
	{[]string{"G2"}, (*checker).fenced},
	{[]string{"G2", "G9"}, (*checker).waited},
	{[]string{"G12"}, (*checker).numbers},
	{[]string{"G12"}, (*checker).audit},
	{[]string{"G12"}, (*checker).stopped},
	{[]string{"G12"}, (*checker).attempts},
	{[]string{"G12"}, (*checker).losses},
}

// harness is what is broken when a history cannot be judged because of how it was written.
const harness = "harness"

// Check judges a history, whose records are in the order of time.
func Check(records []history.Record) Report {
	c := newChecker(records)
	c.count()
	for _, r := range rules {
		r.look(c)
	}
	slices.SortStableFunc(c.report.Violations, func(a, b Violation) int { return cmp.Compare(a.last(), b.last()) })
	return c.report
}

// shows: does a history break the same guarantee on the same ticket?
func shows(records []history.Record, v Violation) bool {
	c := newChecker(records)
	c.only = v.Ticket
	for _, r := range rules {
		if slices.Contains(r.of, v.Guarantee) {
			r.look(c)
		}
	}
	return slices.ContainsFunc(c.report.Violations, func(o Violation) bool { return o.Guarantee == v.Guarantee && o.Ticket == v.Ticket })
}

// unique: no two calls, and no two answers, have the same ID.
func (c *checker) unique() {
	for _, n := range c.twice {
		c.violate(harness, "", []int{n}, "an ID is used twice: the answers cannot be told apart")
		return
	}
}

// count says what the history is made of.
func (c *checker) count() {
	n := c.report.Counts
	for _, one := range c.calls {
		n["calls"]++
		n["call "+one.kind]++
		switch {
		case one.status == 0:
			n["answer none"]++
		case one.code != "":
			n["answer "+one.code]++
		default:
			n[fmt.Sprint("answer ", one.status)]++
		}
	}
	for _, s := range c.sendings {
		n[fmt.Sprint("sending ", s.Status)]++
	}
	for _, f := range c.faults {
		n["fault "+f.name]++
	}
	for _, a := range c.audits {
		if a.Fields["PICKET_EVENT"] == "inherited" {
			n["taken over"]++
		}
	}
	n["calls that no daemon took"] = c.unsent
	n["audit records"], n["grants"], n["sendings"] = len(c.audits), len(c.grants), len(c.sendings)
}
