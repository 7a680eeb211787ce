// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

// Rules are what the protocol rests on. The design has them all.
type Rules struct {
	epochFirst    bool // the epoch of the marks is read before the tickets are
	standingFirst bool // and so is which data Redis has
	epoch         bool // a mark is made only in the epoch that was read
	reopening     bool // nothing is marked while a ticket may be reopened any moment
	unmarkBefore  bool // the marks are taken away before a ticket is reopened
	unmarkAfter   bool // and after it
	late          bool // a reopen that comes when its time is over does nothing
	standing      bool // a mark of other data counts for nothing
	promotions    bool // a server that was made the master again has other data than before
	damaged       bool // while tickets are known to be damaged no mark counts
	age           bool // a mark lives no longer than the first of its tickets
	check         bool // a run asks at its end whether all that it saw still holds
}

// Run is one exploration.
type Run struct {
	Rules
	left Left
}

// walk yields the steps out of a state.
type walk struct {
	Rules
	State
	yield func(explore.Step[State])
}

var who = []string{"A", "B"}

func (w *walk) do(name string, t State) { w.yield(explore.Step[State]{Name: name, To: t}) }
func (w *walk) by(d int, name string, t State) {
	w.yield(explore.Step[State]{Who: who[d], Name: name, To: t})
}

func (w *walk) bad(kind, name string, t State) {
	w.yield(explore.Step[State]{Name: name, Bad: kind, To: t})
}
