// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// Rules are what the mutations break. The zero value is the design.
type Rules struct {
	emptyAnswer   bool // 202 for another's content without taking it into the own outbox
	commitFirst   bool // sendable when staged
	neverSettle   bool // a staged entry is left alone after a crash
	hintAfter     bool // the hint is put after the write, not before
	hintAnytime   bool // a hint may be dropped at any time
	redoNoHint    bool // what was staged is written again without a new hint
	noSweep       bool // nobody puts hints back
	noAttempt     bool // sent without an attempt in Redis
	ignoreLease   bool // an attempt is taken over another's live lease
	onceOwnLease  bool // at_most_once: an attempt is taken over one's own live lease
	onceAgain     bool // at_most_once: an unknown outcome is sent again
	onceCut       bool // at_most_once: sent while Redis is away
	adoptedCut    bool // an adopted entry is sent while Redis is away
	revisionOnly  bool // lost data is told by a lower revision alone
	highRiskStale bool // a ticket back in HIGH_RISK counts as superseded
	factMoves     bool // the receipt for what Redis had lost settles the channel of what the ticket carries now
	sendDiscarded bool // a discarded entry is sent
	staleCut      bool // sent while Redis is away, though the ticket has not named the entry for long
	noFacts       bool // a decision stays on the ticket, and comes into no outbox
	lostBlind     bool // a ticket that tells another content, or is in a later run, counts as one that lost this one
	begunAgain    bool // at_most_once: what the outbox says was begun is begun again
	lostCopy      bool // at_most_once: what Redis has lost is sent by a host that has adopted it
	lostBroken    bool // at_most_once: what Redis has lost is sent by a host from which another may have taken it over
	blindCopy     bool // an attempt does not say how many the channel has had
	noWait        bool // NOTIFYING counts before the replica has it
	closeParked   bool // an entry is closed when each of its channels is sent, or parked on the ticket
}

// Run is one exploration.
type Run struct {
	name, what string
	rules      Rules
	once       []bool // by channel: at_most_once
	faults     Faults
	most       uint8 // faults on one path
}

// Step is something that can happen.
type Step struct {
	name    string
	host    int    // -1: none
	channel int    // -1: none
	fault   bool   // nothing may rely on it
	bad     string // the violation that it is
	to      State
}

// walk yields the steps out of a state.
type walk struct {
	*Run
	State
	yield func(Step)
}

func (w *walk) do(name string, h int, t State)        { w.yield(Step{name, h, -1, false, "", t}) }
func (w *walk) fault(name string, h int, t State)     { w.yield(Step{name, h, -1, true, "", t}) }
func (w *walk) on(k int, name string, h int, t State) { w.yield(Step{name, h, k, false, "", t}) }
