// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/proof/history"
)

// A history is tried with less so often at most, and for so long.
const (
	most    = 300
	longest = time.Minute
)

// Shrink leaves out of a history what a violation does not need: the records that are left break the same guarantee on the same ticket.
// The faults stay as long as possible, because they may excuse it.
func Shrink(records []history.Record, v Violation) []history.Record {
	s := read(records)
	still := func(kept []int) bool { return shows(pick(records, kept), v) }
	var all, before, about []int
	asset, _, _ := strings.Cut(v.Ticket, "/")
	calls := map[int]*call{}
	for _, c := range s.calls {
		calls[c.n], calls[c.m] = c, c
	}
	for n, r := range records {
		all = append(all, n)
		if n > v.last() {
			continue
		}
		before = append(before, n)
		if c := calls[n]; r.Setup != nil || r.Fault != nil || r.Process != nil || c != nil && c.asset == asset || slices.Contains(v.Records, n) {
			about = append(about, n)
		}
	}
	var shown []int
	for n, r := range records {
		if r.Setup != nil || r.Fault != nil && n <= v.last() || slices.Contains(v.Records, n) {
			shown = append(shown, n)
		}
	}
	for _, kept := range [][]int{shown, about, before} {
		if still(kept) {
			return pick(records, fewer(kept, s.parts(kept), still))
		}
	}
	return pick(records, all)
}

// parts are what can be left out at once: a call with its answer, a fault with its end, any other record by itself. The last come first.
func (s *story) parts(kept []int) (all [][]int) {
	of := map[int][]int{}
	for _, c := range s.calls {
		of[c.n] = distinct(c.records())
		of[max(c.m, c.n)] = of[c.n]
	}
	for _, f := range s.faults {
		of[f.n] = distinct([]int{f.n, f.m})
		of[max(f.m, f.n)] = of[f.n]
	}
	for _, n := range slices.Backward(kept) {
		switch part := of[n]; {
		case part == nil && s.records[n].Setup == nil:
			all = append(all, []int{n})
		case part != nil && part[len(part)-1] == n:
			all = append(all, part)
		}
	}
	return all
}

// fewer leaves out parts, as long as what is left shows the same: half of them, a quarter, and so on down to one by one.
func fewer(kept []int, parts [][]int, still func([]int) bool) []int {
	tries, until := 0, time.Now().Add(longest)
	for size := max(len(parts)/2, 1); ; size /= 2 {
		var left [][]int
		for some := range slices.Chunk(parts, size) {
			gone := map[int]bool{}
			for _, part := range some {
				for _, n := range part {
					gone[n] = true
				}
			}
			rest := slices.DeleteFunc(slices.Clone(kept), func(n int) bool { return gone[n] })
			if tries++; tries <= most && time.Now().Before(until) && still(rest) {
				kept = rest
			} else {
				left = append(left, some...)
			}
		}
		if parts = left; size <= 1 || tries > most {
			return kept
		}
	}
}

func pick(records []history.Record, kept []int) (some []history.Record) {
	for _, n := range kept {
		some = append(some, records[n])
	}
	return some
}
