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

// Violation is a guarantee that a history breaks.
type Violation struct {
	Guarantee string // G1 … G12
	Ticket    string // ASSET/TASK, or the asset alone where it is about all its tasks; empty: about a host
	Text      string
	Records   []int // indexes into the history of what shows it, in order
}

// Report is what came of a history.
type Report struct {
	Violations []Violation
	Counts     map[string]int // what happened: calls, answers by code, grants, sendings, faults, registers
	Excused    map[string]int // what was let pass, by the documented exception
}

// checker is a history that is being judged.
type checker struct {
	*story
	report Report
	seen   map[string]bool
}

// Check judges a history, whose records are in the order of time.
func Check(records []history.Record) Report {
	c := &checker{
		story:  read(records),
		report: Report{Counts: map[string]int{}, Excused: map[string]int{}},
		seen:   map[string]bool{},
	}
	c.count()
	c.trust()
	c.registers()
	c.tokens()
	slices.SortStableFunc(c.report.Violations, func(a, b Violation) int { return cmp.Compare(a.last(), b.last()) })
	return c.report
}

// last is the record by which a violation is complete.
func (v Violation) last() int {
	if len(v.Records) == 0 {
		return -1
	}
	return slices.Max(v.Records)
}

// violate notes a violation, each one once.
func (c *checker) violate(guarantee, ticket string, records []int, format string, args ...any) {
	v := Violation{guarantee, ticket, fmt.Sprintf(format, args...), distinct(records)}
	if key := v.Guarantee + v.Ticket + v.Text; !c.seen[key] {
		c.seen[key] = true
		c.report.Violations = append(c.report.Violations, v)
	}
}

// excuse counts what a documented exception lets pass.
func (c *checker) excuse(why string) { c.report.Excused[why]++ }

// distinct is a set of records in their order, without those that are not there.
func distinct(records []int) []int {
	all := slices.DeleteFunc(slices.Clone(records), func(n int) bool { return n < 0 })
	slices.Sort(all)
	return slices.Compact(all)
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
	n["audit records"], n["grants"], n["sendings"] = len(c.audits), len(c.grants), len(c.sendings)
}
