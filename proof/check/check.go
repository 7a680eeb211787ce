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
	c.resume()
	c.life()
	c.toldOfLoss()
	came := c.keys()
	c.delivery(came)
	c.superseded(came)
	c.recorded()
	c.numbers()
	c.audit()
	slices.SortStableFunc(c.report.Violations, func(a, b Violation) int { return cmp.Compare(a.last(), b.last()) })
	return c.report
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
