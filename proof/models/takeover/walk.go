// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

// Run is one exploration.
type Run struct {
	Rules
	left Left
}

var who = []string{"A", "B", "C"}

// walk yields the steps of one daemon out of a state.
type walk struct {
	Rules
	State
	d     int8
	yield func(explore.Step[State])
}

func (w *walk) do(name string, t State) {
	w.yield(explore.Step[State]{Who: who[w.d], Name: name, To: t})
}

func (w *walk) fault(name string, t State) {
	w.yield(explore.Step[State]{Who: who[w.d], Name: name, Fault: true, To: t})
}
