// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package explore goes through every state of a model, breadth first, and has what the models' commands print.
//
// Two kinds of violation are found. A step may be one by itself (Step.Bad). And a state may owe something (Space.Owed) that no path of
// steps reaches which are not faults: a fault may happen, and nothing may rely on it.
package explore

import (
	"slices"
	"strings"
	"time"
)

// Step is something that can happen in a state.
type Step[S comparable] struct {
	Who, Name, Where string // one of them at least; parts, as joining them each time would take longer than all else
	Fault            bool   // nothing may rely on it
	Bad              string // the kind of violation that it is, or empty
	To               S
}

// label is how a path names the step.
func (s Step[S]) label() string {
	label := strings.Trim(s.Who+" "+s.Name, " ")
	if s.Where != "" {
		label += " (" + s.Where + ")"
	}
	return strings.Replace(label, " 's", "'s", 1)
}

// Space is a model: where it starts, and what can happen in each state.
type Space[S comparable] struct {
	Start S
	Steps func(s S, yield func(Step[S]))

	// Reached is what a state has reached, in bits, and Owed what must be reached from it, by kind of violation. Nil: nothing is owed.
	Reached func(s S) uint8
	Owed    func(s S, owes func(kind string, bits uint8))
}

// Result is what was found: the kinds of violation in the order in which they were met, with the shortest path to each.
type Result struct {
	States int
	Took   time.Duration
	Kinds  []string
	Path   map[string]string
}

// visited are the states that were met. A state's number is its place in all.
type visited[S comparable] struct {
	all    []S
	number map[S]uint32
	parent []uint32
}

func (v *visited[S]) add(s S, from int) uint32 {
	n, ok := v.number[s]
	if !ok {
		n = uint32(len(v.all))
		v.number[s] = n
		v.all, v.parent = append(v.all, s), append(v.parent, uint32(from))
	}
	return n
}

// Explore visits every state.
func (m Space[S]) Explore() Result {
	began := time.Now()
	var (
		seen  = visited[S]{number: map[S]uint32{}}
		edges []uint32   // where steps that are not faults lead,
		first = []int{0} // those of state i from first[i] on
		res   = Result{Path: map[string]string{}}
	)
	found := func(kind string, at int, last string) {
		if res.Path[kind] == "" {
			res.Kinds = append(res.Kinds, kind)
			res.Path[kind] = strings.Join(append(m.path(&seen, at), last), " > ")
		}
	}
	seen.add(m.Start, 0)
	for i := 0; i < len(seen.all); i++ {
		m.Steps(seen.all[i], func(s Step[S]) {
			if s.Bad != "" {
				found(s.Bad, i, s.label())
			}
			if n := seen.add(s.To, i); !s.Fault && m.Owed != nil {
				edges = append(edges, n)
			}
		})
		first = append(first, len(edges))
	}
	if m.Owed != nil {
		reach := m.reach(seen.all, edges, first)
		for i, s := range seen.all {
			m.Owed(s, func(kind string, bits uint8) {
				if bits&^reach[i] != 0 {
					found(kind, i, "...")
				}
			})
		}
	}
	res.States, res.Took = len(seen.all), time.Since(began)
	return res
}

// reach is what can be reached from each state without a fault.
func (m Space[S]) reach(all []S, edges []uint32, first []int) []uint8 {
	reach := make([]uint8, len(all))
	for i, s := range all {
		reach[i] = m.Reached(s)
	}
	for changed := true; changed; { // backwards until nothing is added
		changed = false
		for i := len(all) - 1; i >= 0; i-- {
			bits := reach[i]
			for _, n := range edges[first[i]:first[i+1]] {
				bits |= reach[n]
			}
			changed = changed || bits != reach[i]
			reach[i] = bits
		}
	}
	return reach
}

// path names the steps to a state.
func (m Space[S]) path(seen *visited[S], at int) (names []string) {
	for at > 0 {
		from, name := int(seen.parent[at]), ""
		m.Steps(seen.all[from], func(s Step[S]) {
			if name == "" && s.To == seen.all[at] {
				name = s.label()
			}
		})
		names = append(names, name)
		at = from
	}
	slices.Reverse(names)
	return names
}
