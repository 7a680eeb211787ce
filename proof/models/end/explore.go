// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

// Run is one exploration.
type Run struct {
	Rules
	callers [callers]Caller
	left    Left
}

func (r Run) explore() explore.Result {
	return explore.Space[State]{
		Start: start(r.callers, r.left),
		Steps: func(s State, yield func(explore.Step[State])) {
			w := walk{r.Rules, s, yield}
			for c := range s.callers {
				w.call(c)
			}
			w.claim()
			w.faults()
		},
		Reached: func(s State) uint8 {
			if s.toldLost || s.status == released {
				return 1
			}
			return 0
		},
		Owed: func(s State, owes func(string, uint8)) {
			if s.status == lost && !s.down {
				owes("never told", 1)
			}
		},
	}.Explore()
}
