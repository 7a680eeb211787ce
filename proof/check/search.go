// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"cmp"
	"slices"
	"time"
)

// search looks for an order as linearizable does, where data may be lost, too.
func search(ops []*op, relaxed string) verdict {
	s := newSweep(relaxed)
	for _, m := range moments(ops) {
		switch {
		case !m.ends:
			if !s.begin(m.op) {
				return givenUp
			}
		case m.op.kind == toLose:
			s.lose()
		default:
			s.end(m.op)
		}
		switch {
		case s.late:
			return givenUp
		case len(s.now) == 0:
			return unexplained
		}
	}
	return explained
}

// moment is when an op begins, or ends.
type moment struct {
	at   int64
	ends bool
	*op
}

// moments are those of all ops, in order. What begins when another ends is under way with it; a loss is at its end.
func moments(ops []*op) (all []moment) {
	for _, o := range ops {
		if o.kind != toLose {
			all = append(all, moment{o.begin, false, o})
		}
		if o.end != never {
			all = append(all, moment{o.end, true, o})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ends == b.ends:
			return 0
		case a.ends:
			return 1
		}
		return -1
	})
	return all
}

// position is how far an order has come: what the register is, and which of the ops that are under way it has already.
type position struct {
	register int // its number
	done     set
}

// sweep goes through the ops in the order of time, with all positions to which an order can have come. It puts an op into the orders when
// the op ends, each time behind whatever else under way may be before it: earlier than that nobody can tell.
type sweep struct {
	*model
	underway []*op // by place; nil: the place is free
	first    []set // by place: the ops that do the same, may be done as early and no later, and so come first
	must     set   // the ops that have happened
	now      []position
	deadline time.Time
	late     bool
}

func newSweep(relaxed string) *sweep {
	s := &sweep{model: newModel(relaxed), deadline: time.Now().Add(patience)}
	s.now = []position{{register: s.number(register{})}}
	return s
}

// begin gives an op a place; not, if there is none.
func (s *sweep) begin(o *op) bool {
	place := slices.Index(s.underway, nil)
	if place < 0 {
		place = len(s.underway)
		s.underway, s.first = append(s.underway, nil), append(s.first, set{})
	}
	if place >= places {
		return false
	}
	s.first[place] = set{}
	for other, before := range s.underway {
		if before != nil && before.end <= o.end && before.sameAs(o) {
			s.first[place] = s.first[place].with(other)
		}
	}
	if s.underway[place] = o; !o.maybe {
		s.must = s.must.with(place)
	}
	return true
}

// leave frees a place.
func (s *sweep) leave(place int) {
	s.underway[place], s.must = nil, s.must.without(place)
	for other := range s.first {
		s.first[other] = s.first[other].without(place)
	}
}

// end has each order have the op, which is over.
func (s *sweep) end(o *op) {
	place := slices.Index(s.underway, o)
	found := positions{}
	s.explore(func(p position) bool {
		if p.done.has(place) {
			p.done = p.done.without(place)
			s.keep(found, p)
			return false
		}
		return true
	})
	if o.maybe {
		for _, p := range s.now {
			s.keep(found, p)
		}
	}
	s.leave(place)
	s.now = found.all()
}

// lose sets the register back, to whatever it may have been, or to nothing. All that is under way may come yet.
func (s *sweep) lose() {
	s.explore(func(position) bool { return true })
	newest := int64(never)
	for _, p := range s.now {
		newest = min(newest, s.all[p.register].newest)
	}
	found := positions{}
	for _, r := range slices.Clone(s.all) {
		r.newest = newest
		n := s.number(r)
		for _, p := range s.now {
			s.keep(found, position{n, p.done})
		}
	}
	s.lost()
	s.now = found.all()
}

// explore goes on from all positions, by each op under way, as far as goesOn says.
func (s *sweep) explore(goesOn func(position) bool) {
	seen := map[position]bool{}
	var todo []position
	visit := func(p position) {
		if p = s.told(p); !seen[p] {
			seen[p] = true
			todo = append(todo, p)
		}
	}
	for _, p := range s.now {
		visit(p)
	}
	for steps := 0; len(todo) > 0 && !s.late; steps++ {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !goesOn(p) {
			continue
		}
		for place, o := range s.underway {
			if o == nil || p.done.has(place) || !s.first[place].within(p.done) {
				continue
			}
			for _, n := range s.after(p.register, o) {
				if !o.maybe || n != p.register {
					visit(position{n, p.done.with(place)})
				}
			}
		}
		s.late = steps%100 == 99 && time.Now().After(s.deadline)
	}
}

// told is a position behind all that only tells, where that is right as the register is: later it would change nothing either.
func (s *sweep) told(p position) position {
	for place, o := range s.underway {
		if o != nil && !p.done.has(place) && s.tells(o) && slices.Contains(s.after(p.register, o), p.register) {
			p.done = p.done.with(place)
		}
	}
	return p
}

// keep adds a position, unless another one has the same register with fewer of those ops done that need not happen.
func (s *sweep) keep(found positions, p position) {
	better := func(a, b set) bool { return a.within(b) && a.and(s.must) == b.and(s.must) }
	some := found[p.register]
	if slices.ContainsFunc(some, func(was set) bool { return better(was, p.done) }) {
		return
	}
	found[p.register] = append(slices.DeleteFunc(some, func(was set) bool { return better(p.done, was) }), p.done)
}

// positions are by their registers.
type positions map[int][]set

func (all positions) all() (some []position) {
	for register, sets := range all {
		for _, done := range sets {
			some = append(some, position{register, done})
		}
	}
	return some
}

// places is how many ops can be under way at once.
const places = 256

// set is a set of places.
type set [places / 64]uint64

func (s set) has(place int) bool { return s[place/64]&(1<<(place%64)) != 0 }

func (s set) with(place int) set {
	s[place/64] |= 1 << (place % 64)
	return s
}

func (s set) without(place int) set {
	s[place/64] &^= 1 << (place % 64)
	return s
}

func (s set) and(other set) set {
	for i := range s {
		s[i] &= other[i]
	}
	return s
}

func (s set) within(other set) bool { return s.and(other) == s }
