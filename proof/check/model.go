// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// model is what a register may be. relaxed is a guarantee that is not demanded, so that one can tell which is broken.
type model struct {
	relaxed string
	losses  int // how often Redis may have lost data by now
	numbers map[register]int
	all     []register // by their numbers
	known   map[turn][]int
}

// turn is an op, and the register that it finds.
type turn struct {
	register int
	*op
}

func newModel(relaxed string) *model {
	return &model{relaxed: relaxed, numbers: map[register]int{}, known: map[turn][]int{}}
}

func (m *model) number(r register) int {
	n, ok := m.numbers[r]
	if !ok {
		n = len(m.all)
		m.numbers[r] = n
		m.all = append(m.all, r)
	}
	return n
}

// lost: Redis may have lost data once more.
func (m *model) lost() {
	m.losses++
	clear(m.known)
}

// tells: does an op tell how the register is, and change nothing?
func (m *model) tells(o *op) bool { return o.kind == toSee || o.code != "" && m.relaxed == "" }

// after is what a register may be after an op, by their numbers; nothing if the op cannot have been answered so.
func (m *model) after(register int, o *op) []int {
	at := turn{register, o}
	all, ok := m.known[at]
	if !ok {
		for _, r := range m.step(m.all[register], o) {
			if n := m.number(r); !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
		m.known[at] = all
	}
	return all
}

func (m *model) step(r register, o *op) (all []register) {
	for _, now := range m.moved(r) {
		for _, after := range m.effect(now, o) {
			if o.view == nil || o.maybe {
				all = append(all, after)
				continue
			}
			for _, later := range m.moved(after) {
				if seen, ok := o.view.of(later); ok {
					all = append(all, seen)
				}
			}
		}
	}
	return all
}

// moved is a register, and what it may have become without a call: notifications are delivered, claims end, and of a ticket that Redis
// lost a receipt makes a new one.
func (m *model) moved(r register) (all []register) {
	for _, state := range delivered(r.state) {
		one := r
		one.state = state
		all = append(all, one)
	}
	if m.losses > 0 && !r.exists {
		r.exists, r.state, r.run, r.token = true, initial, unsaid, 0
		all = append(all, r)
	}
	return all
}
