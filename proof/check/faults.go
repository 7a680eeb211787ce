// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"

	"github.com/picketd/picket/proof/history"
)

// fault is one from its beginning to its end.
type fault struct {
	n, m         int // its records; m is -1 if it never ended
	name         string
	target       string
	loses, steps bool
	begin, end   int64
}

// faults are those of a history, in the order in which they began.
type faults []*fault

// note pairs the beginning of a fault with its end. What is over in a moment, and what has no end in the history, is told by one
// record: the first ends when it began, the second never.
func (all *faults) note(open map[int]*fault, n int, r history.Record) {
	f := open[r.Fault.ID]
	if f == nil {
		f = &fault{n: n, m: -1, begin: r.At, end: never}
		open[r.Fault.ID] = f
		*all = append(*all, f)
	}
	f.name, f.target = r.Fault.Name, r.Fault.Target
	f.loses, f.steps = f.loses || r.Fault.Loses, f.steps || r.Fault.Steps
	if r.Fault.End {
		f.m, f.end = n, r.At
	}
}

// within: did the fault touch this time?
func (f *fault) within(from, to int64) bool { return f.begin <= to && from <= f.end }

// lost: may Redis have lost what it confirmed in this time?
func (all faults) lost(from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.loses && f.within(from, to) })
}

// stepped: was the clock of a Redis set in this time?
func (all faults) stepped(from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.steps && f.within(from, to) })
}
