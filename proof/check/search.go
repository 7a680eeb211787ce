// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

const (
	// enough is how many positions a search looks at before it gives up: half a minute of an idle processor.
	enough = 2_000_000
	// light is how many positions it compares with one in the same time.
	light = 64
)

// search looks for an order as linearizable does, where data may be lost, too.
func search(ops []*op, relaxed string) verdict {
	s := newSweep(relaxed)
	for _, o := range ops {
		if o.kind == toLose {
			s.losing++
		}
	}
	for _, m := range moments(ops) {
		if m.ends {
			s.end(m.op)
		} else {
			s.begin(m.op)
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
	lower    []set // by place, of a grant: those with smaller tokens, none of which comes after it
	must     set   // the ops that have happened
	now      []position
	losing   int        // how many losses are still to come, or under way
	past     []position // if any are: what the register has been, in orders that have at least these ops
	been     positions  // the same
	looked   int        // at how many positions
	compared int        // with how many, in light ones
	late     bool       // it is given up
}

func newSweep(relaxed string) *sweep {
	s := &sweep{model: newModel(relaxed), been: positions{}}
	s.now = []position{{register: s.number(register{})}}
	return s
}

// begin gives an op a place.
func (s *sweep) begin(o *op) {
	place := slices.Index(s.underway, nil)
	if place < 0 {
		place = len(s.underway)
		s.underway, s.first, s.lower = append(s.underway, nil), append(s.first, set{}), append(s.lower, set{})
	}
	if place >= places {
		s.late = true
		return
	}
	s.first[place], s.lower[place] = set{}, set{}
	for other, before := range s.underway {
		switch {
		case before == nil:
		case before.end <= o.end && before.sameAs(o):
			s.first[place] = s.first[place].with(other)
		case before.ordered && o.ordered && before.token < o.token:
			s.lower[place] = s.lower[place].with(other)
		case before.ordered && o.ordered && before.token > o.token:
			s.lower[other] = s.lower[other].with(place)
		}
	}
	if s.underway[place] = o; !o.maybe {
		s.must = s.must.with(place)
	}
	if o.kind == toLose {
		s.lost()
	}
}

// leave frees a place.
func (s *sweep) leave(place int) {
	s.underway[place], s.must = nil, s.must.without(place)
	was := s.past
	s.past, s.been = nil, positions{}
	for _, p := range was {
		s.remember(p.register, p.done.without(place))
	}
	for other := range s.underway {
		s.first[other], s.lower[other] = s.first[other].without(place), s.lower[other].without(place)
	}
}

// end has each order have the op, which is over.
func (s *sweep) end(o *op) {
	place := slices.Index(s.underway, o)
	found := positions{}
	if o.maybe {
		for _, p := range s.now {
			s.keep(found, p)
		}
	}
	s.explore(func(p position) bool {
		has := p.done.has(place)
		if has {
			s.keep(found, position{p.register, p.done.without(place)})
		}
		return !has
	})
	if o.kind == toLose {
		s.losing--
	}
	s.leave(place)
	s.now = found.all()
}

// explore goes on from all positions, by each op under way, from those of which goesOn says so.
func (s *sweep) explore(goesOn func(position) bool) {
	seen := map[position]bool{}
	var todo []position
	visit := func(p position) {
		if p = s.told(p); !seen[p] {
			seen[p] = true
			todo = append(todo, p)
			s.remember(p.register, p.done)
		}
	}
	for _, p := range s.now {
		visit(p)
	}
	setBack := map[set]int{} // by what is done: to how much of the past a loss has led
	for len(todo) > 0 && !s.late {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !goesOn(p) {
			continue
		}
		for place, o := range s.underway {
			if o == nil || p.done.has(place) || !s.first[place].within(p.done) || !s.lower[place].and(s.must).within(p.done) {
				continue
			}
			done := p.done.or(s.lower[place]).with(place)
			if o.kind == toLose {
				s.compared += len(s.past) - setBack[done]
				for n := setBack[done]; n < len(s.past); n++ {
					if was := s.past[n]; was.done.and(s.must).within(done) {
						visit(position{was.register, done.or(was.done)})
					}
				}
				setBack[done] = len(s.past)
				continue
			}
			for _, n := range s.after(p.register, o) {
				if !o.maybe || n != p.register {
					visit(position{n, done})
				}
			}
		}
		s.looked++
		s.late = s.late || s.looked+s.compared/light > enough
	}
}

// remember adds to the past, if that is still needed, unless it is known of orders that have less.
func (s *sweep) remember(register int, done set) {
	s.compared += len(s.been[register])
	if s.losing > 0 && !slices.ContainsFunc(s.been[register], func(was set) bool { return was.within(done) }) {
		s.been[register] = append(s.been[register], done)
		s.past = append(s.past, position{register, done})
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
	s.compared += len(some)
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
