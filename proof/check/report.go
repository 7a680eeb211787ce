// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
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
	only   string // the ticket that is looked at; empty: all
}

func newChecker(records []history.Record) *checker {
	return &checker{
		story:  read(records),
		report: Report{Counts: map[string]int{}, Excused: map[string]int{}},
		seen:   map[string]bool{},
	}
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
