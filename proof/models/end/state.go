// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// Rules are what the mutations break. The zero value is the design.
type Rules struct {
	oneFlag, sentIsFinished, lateIsDone, heldIsDone, noTurn, notAsked, notedLate, lostIsLost, readFirst, restartForgets, neverAsked bool
}

// Left is how often each fault may still strike: an answer or a request that is lost, a finish that the flow refuses or that landed and
// cannot be answered, another that takes the asset, an administrator who breaks the lock, a crash.
type Left struct{ silences, refusals, unreadables, takes, breaks, crashes int8 }

const callers = 2

// What a call asks for.
const (
	finish = iota
	release
)

// Where a call is.
const (
	idle = iota
	waits
	sent
	replied
	left  // its turn, with a reply or none: what it means is noted next
	ghost // of a run that is gone: its request may land yet
)

// Caller makes calls of one kind, one after another.
type Caller struct {
	kind, tries int8
	at          int8
	reply       int8
}

// What Redis replies.
const (
	done = iota
	finished
	nothing // the lock is freed, nothing stands on the ticket
	stale
	illegal
	silent // no reply
)

// How a claim ended, as its ticket says, and its status for the daemon.
const (
	open = iota // held
	lost
	released
	byFinish // on a ticket only
)

// Memory is what a daemon knows of the claim.
type Memory struct {
	status     int8
	finished   bool
	unanswered bool
}

// State is everything.
type State struct {
	Memory
	journal Memory
	down    bool
	ending  int8
	gone    int8 // what a renewal that found no lock has read: open: none is under way
	ticket  int8
	lock    bool
	newest  bool
	callers [callers]Caller
	left    Left

	finishing bool // with sentIsFinished: a finish got no answer

	// What was told and answered. A finish is refused, too, when the claim was released; a release only when it was lost.
	toldLost, lostFinish, lostRelease, doneFinish, doneRelease bool
}

func start(c [callers]Caller, left Left) State {
	return State{lock: true, newest: true, callers: c, left: left}
}

// busy is whether a call has its turn.
func (s *State) busy() bool {
	for _, c := range s.callers {
		if c.at == sent || c.at == replied {
			return true
		}
	}
	return false
}

// landed is whether an end of the claim's stands on the ticket.
func (s *State) landed() bool { return s.ticket == released || s.ticket == byFinish }

// bad is what kind of violation the state is.
func (s *State) bad() string {
	switch {
	case (s.toldLost || s.lostRelease) && (s.doneFinish || s.doneRelease), s.lostFinish && s.doneFinish:
		return "lost and done"
	case s.doneFinish && s.ticket != byFinish, s.doneRelease && !s.landed():
		return "done and is not"
	}
	return ""
}
