// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

// Rules are what the mutations break. The zero value is the design.
type Rules struct {
	anyBefore    bool // a retry does not say which intent it replaces
	settledToo   bool // a retry replaces the intent though each of its channels was settled meanwhile
	retryAll     bool // what is in flight is pending again, too
	neverSettle  bool // a retry without an answer is left alone
	twoAtOnce    bool // a host works on two intents of a channel at once
	nameless     bool // an attempt does not say for which intent it is
	ownInFlight  bool // a lease of this very run of a host counts as left by an earlier one
	lateMoves    bool // an outcome counts under whatever attempt
	oldReceipt   bool // a receipt of an intent that was replaced moves nothing
	begunIsBegun bool // at_most_once: a retry is parked for what an earlier intent had begun
	shutForGood  bool // what a retry replaced is not taken up again
}

// Run is one exploration.
type Run struct {
	name, what string
	rules      Rules
	once       [channels]bool // at_most_once
	given      Left
	most       uint8 // faults on one path
}

// walk yields the steps out of a state.
type walk struct {
	*Run
	State
	yield func(explore.Step[State])
}

var (
	hostNames    = []string{"A", "B"}
	channelNames = []string{"channel 0", "channel 1"}
)

func (w *walk) step(h, k int, name string, fault bool, bad string, t State) {
	s := explore.Step[State]{Name: name, Fault: fault, Bad: bad, To: t}
	if h >= 0 {
		s.Who = hostNames[h]
	}
	if k >= 0 {
		s.Where = channelNames[k]
	}
	if w.given.faults()-t.left.faults() <= w.most {
		w.yield(s)
	}
}

func (w *walk) do(h, k int, name string, t State)    { w.step(h, k, name, false, "", t) }
func (w *walk) fault(h, k int, name string, t State) { w.step(h, k, name, true, "", t) }
