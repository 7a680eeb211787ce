// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

func (r Run) explore() explore.Result {
	return explore.Space[State]{
		Start: start(r.left),
		Steps: func(s State, yield func(explore.Step[State])) {
			for d := range int8(daemons) {
				w := walk{r.Rules, s, d, yield}
				w.faults()
				if s.daemon[d].status == lives {
					w.takeOver()
					w.keep()
				}
			}
		},
		Reached: func(s State) uint8 {
			if s.sent {
				return 1
			}
			return 0
		},
		Owed: func(s State, owes func(string, uint8)) {
			for _, p := range s.daemon {
				if p.status != dead && !p.unable {
					owes("forgotten", 1)
				}
			}
		},
	}.Explore()
}
