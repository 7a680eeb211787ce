// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

func (r Run) explore() explore.Result {
	return explore.Space[State]{Start: start(r.left), Steps: func(s State, yield func(explore.Step[State])) {
		w := walk{r.Rules, s, yield}
		for d := range s.daemon {
			if !s.daemon[d].dead {
				w.daemonSteps(d)
			}
		}
		w.runSteps()
		w.reopens()
		w.redis()
	}}.Explore()
}
