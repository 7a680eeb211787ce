// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

func (r Run) explore() explore.Result {
	start := State{left: r.left, claimer: [2]Claimer{{tries: r.tries[0]}, {tries: r.tries[1]}}}
	return explore.Space[State]{Start: start, Steps: func(s State, yield func(explore.Step[State])) {
		w := walk{r, s, func(step string, t State) {
			yield(explore.Step[State]{Name: step, To: t})
		}, func(kind, step string) {
			yield(explore.Step[State]{Name: step, Bad: kind, To: s})
		}}
		w.redis()
		for i := range s.claimer {
			w.claim(i)
		}
	}}.Explore()
}
