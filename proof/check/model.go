// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"hash/maphash"

	"github.com/anishathalye/porcupine"
)

func (m *model) porcupine() porcupine.Model {
	seed := maphash.MakeSeed()
	n := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, _ any) []any {
			var all []any
			for _, r := range m.step(state.(register), input.(*op)) {
				all = append(all, r)
			}
			return all
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(register)) },
	}
	return n.ToModel()
}

// step is what a register may be after an op; nothing if the op cannot have been answered so.
func (m *model) step(r register, o *op) (all []register) {
	if o.kind == toLose {
		return m.lose(r)
	}
	if o.maybe {
		all = append(all, r)
	}
	for _, now := range moved(r) {
		for _, after := range m.effect(now, o) {
			if r.lost < m.losses && after != now {
				after.past = m.remember(r)
			}
			if o.view == nil || o.maybe {
				all = append(all, after)
				continue
			}
			for _, later := range moved(after) {
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
func moved(r register) (all []register) {
	for _, state := range delivered(r.state) {
		one := r
		one.state = state
		all = append(all, one)
	}
	if r.lost > 0 && !r.exists {
		r.exists, r.state, r.run, r.token = true, initial, unsaid, 0
		all = append(all, r)
	}
	return all
}

// lose is what a register may be after a loss of data: as it was, as it was at any time before, or nothing.
func (m *model) lose(r register) []register {
	past, lost := m.remember(r), r.lost+1
	all := []register{{}}
	for _, n := range past {
		all = append(all, m.all[n])
	}
	for i := range all {
		if all[i].lost = lost; lost < m.losses {
			all[i].past = past
		}
	}
	return all
}
