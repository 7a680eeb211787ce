// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

func (w *walk) steps() {
	for h := range w.host {
		switch p := w.host[h]; {
		case p.gone == 1:
			continue
		case p.down == 1:
			t := w.State
			t.host[h].down = 0
			w.do(h, -1, "restarts", t)
			continue
		}
		w.operator(h)
		for i := range w.host[h].box {
			for k := range w.once {
				w.deliver(h, i, k)
			}
			w.heed(h, i)
		}
		w.takeUp(h)
		w.hostFaults(h)
	}
	w.redis()
}

func (r *Run) explore() explore.Result {
	return explore.Space[State]{
		Start:   start(r.given),
		Steps:   func(s State, yield func(explore.Step[State])) { (&walk{r, s, yield}).steps() },
		Reached: func(s State) uint8 { return s.reached() },
		Owed: func(s State, owes func(string, uint8)) {
			owes("stuck", notStuck)
			owes("lost", s.due)
		},
	}.Explore()
}

// What is to be reached, in bits: channel k is sent (bit k); NOTIFYING is left.
const notStuck = 1 << channels

func (s *State) reached() uint8 {
	bits := ^s.due & (notStuck - 1)
	if s.s != notifying {
		bits |= notStuck
	}
	return bits
}
