// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is what a run found: by kind of violation the shortest path, the kinds in the order in which they were met.
type Result struct {
	states int
	took   time.Duration
	kinds  []string
	path   map[string]string
}

func (r *Run) explore() Result {
	began := time.Now()
	var (
		start  = State{s: highRisk, text: nobody, grant: 0, owner: nobody, late: nobody, left: r.faults}
		keys   []key              // the states, breadth first; their numbers are their places here
		number = map[key]uint32{} //
		parent []uint32           //
		goals  []uint8            // what can be reached from each
		edges  []uint32           // where steps that are not faults lead,
		first  = []int{0}         // those of state i from first[i] on
		res    = Result{path: map[string]string{}}
	)
	// The first claim is host A's (0): by symmetry nothing is lost.
	start.host = [2]Host{{up: up, believes: 1}, {up: up}}
	visit := func(s *State, from int) uint32 {
		k := pack(s)
		n, ok := number[k]
		if !ok {
			n = uint32(len(keys))
			number[k] = n
			keys, parent, goals = append(keys, k), append(parent, uint32(from)), append(goals, s.reached())
		}
		return n
	}
	found := func(kind string, at int, last string) {
		if res.path[kind] == "" {
			res.kinds = append(res.kinds, kind)
			res.path[kind] = r.path(keys, parent, at) + last
		}
	}
	visit(&start, 0)
	for i := 0; i < len(keys); i++ {
		w := walk{r, unpack(keys[i]), func(st Step) {
			if r.faults.sum()-st.to.left.sum() > r.most {
				return
			}
			if st.bad != "" {
				found(st.bad, i, r.label(st))
			}
			if n := visit(&st.to, i); !st.fault {
				edges = append(edges, n)
			}
		}}
		w.steps()
		first = append(first, len(edges))
	}
	for changed := true; changed; { // backwards until nothing is added
		changed = false
		for i := len(keys) - 1; i >= 0; i-- {
			g := goals[i]
			for _, n := range edges[first[i]:first[i+1]] {
				g |= goals[n]
			}
			changed = changed || g != goals[i]
			goals[i] = g
		}
	}
	for i, k := range keys {
		s := unpack(k)
		missing := s.owed(len(r.once)) &^ goals[i]
		if missing&notStuck != 0 {
			found("stuck", i, "...")
		}
		if missing&^notStuck != 0 {
			found("lost", i, "...")
		}
	}
	res.states, res.took = len(keys), time.Since(began)
	return res
}

func (r *Run) label(s Step) string {
	name := s.name
	if s.host >= 0 {
		name = strings.Replace(fmt.Sprintf("%c %s", 'A'+s.host, name), " 's", "'s", 1)
	}
	if s.channel >= 0 && len(r.once) > 1 {
		name += fmt.Sprintf(" (channel %d)", s.channel)
	}
	return name
}

func (r *Run) path(keys []key, parent []uint32, at int) string {
	var names []string
	for at > 0 {
		from, name := int(parent[at]), ""
		w := walk{r, unpack(keys[from]), func(st Step) {
			if name == "" && pack(&st.to) == keys[at] {
				name = r.label(st)
			}
		}}
		w.steps()
		names = append(names, name+" > ")
		at = from
	}
	slices.Reverse(names)
	return strings.Join(names, "")
}

func (w *walk) steps() {
	for h := range w.host {
		p := &w.host[h]
		if p.cut == 1 {
			t := w.State
			t.host[h].cut = 0
			w.do("heals", h, t)
		}
		if p.up == down {
			t := w.State
			t.host[h].up = up
			w.do("restarts", h, t)
		}
		if p.up == up {
			w.agents(h)
			w.call(h)
			w.deliver(h)
			if p.cut == 0 {
				w.adopt(h)
				w.hints(h)
				w.heed(h)
			}
			w.hostFaults(h)
		}
	}
	w.leases()
	w.redis()
	w.copies()
	w.passes()
}
