// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// summary adds up results.
type summary struct {
	histories, failed int
	cells             map[cell]*sum
	all               sum
}

// cell is a row of the table.
type cell struct{ topology, profile string }

// sum is what was counted in some histories.
type sum struct {
	histories, violations int
	seconds               int64 // of faults
	counts, excused       map[string]int
}

func newSum() sum { return sum{counts: map[string]int{}, excused: map[string]int{}} }

func newSummary() *summary { return &summary{cells: map[cell]*sum{}, all: newSum()} }

func (s *summary) add(r *result) {
	if r.Error != "" {
		s.failed++
		return
	}
	s.histories++
	at := cell{r.Setup.Topology, r.Setup.Profile}
	if s.cells[at] == nil {
		one := newSum()
		s.cells[at] = &one
	}
	for _, one := range []*sum{s.cells[at], &s.all} {
		one.histories++
		one.violations += len(r.Violations)
		one.seconds += r.Setup.LengthMS / 1000
		for name, n := range r.Counts {
			one.counts[name] += n
		}
		for name, n := range r.Excused {
			one.excused[name] += n
		}
	}
}

// right says that there were histories, and that nothing was found in them.
func (s *summary) right() bool { return s.histories > 0 && s.failed == 0 && s.all.violations == 0 }

// print writes the tables of docs/proof.md.
func (s *summary) print(w io.Writer) {
	columns := []string{"calls", "grants", "sendings", "audit records", "faults", "registers checked"}
	fmt.Fprintf(w, "\n| topology | profile | histories | seconds of faults | %s | violations |\n", strings.Join(columns, " | "))
	fmt.Fprintf(w, "|---|---|---|---|%s---|\n", strings.Repeat("---|", len(columns)))
	row := func(topology, profile string, one *sum) {
		fmt.Fprintf(w, "| %s | %s | %d | %d |", topology, profile, one.histories, one.seconds)
		for _, name := range columns {
			fmt.Fprintf(w, " %d |", count(one.counts, name))
		}
		fmt.Fprintf(w, " %d |\n", one.violations)
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.cells), func(a, b cell) int {
		return strings.Compare(a.topology+" "+a.profile, b.topology+" "+b.profile)
	}) {
		row(at.topology, at.profile, s.cells[at])
	}
	row("all", "", &s.all)
	fmt.Fprintf(w, "\ncounted: %s\n", counted(s.all.counts))
	fmt.Fprintf(w, "let pass by a window that is documented: %s\n", counted(s.all.excused))
	if s.failed > 0 {
		fmt.Fprintf(w, "%d runs made no history\n", s.failed)
	}
}
