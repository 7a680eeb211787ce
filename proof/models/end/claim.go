// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

// walk yields the steps out of a state.
type walk struct {
	Rules
	State
	yield func(explore.Step[State])
}

func (w *walk) do(who, name string, t State, fault bool) {
	w.yield(explore.Step[State]{Who: who, Name: name, Fault: fault, Bad: t.bad(), To: t})
}

// conclude ends the claim for the daemon, and tells of a loss unless it must be asked first. It reports whether the claim was held.
func (w *walk) conclude(t *State, status int8) bool {
	if t.status != open {
		return false
	}
	t.status = status
	t.finished = t.finished || status == released && t.finishing
	t.unanswered = status == lost && !w.notAsked && (t.unanswered || t.ending > 0)
	t.journal = t.Memory
	t.toldLost = t.toldLost || status == lost && !t.unanswered
	return true
}

// noteEnd is what became of an end, once.
func (s *State) noteEnd(ended bool) {
	if !s.unanswered {
		return
	}
	s.unanswered = false
	if ended {
		s.status = released
	}
	s.finished = s.finished || ended && s.finishing
	s.toldLost = s.toldLost || !ended
	s.journal = s.Memory
}

// ask reads from the ticket whether a call has ended the claim.
func (s *State) ask() bool {
	s.finished = s.finished || s.ticket == byFinish
	return s.landed()
}

// claim is what befalls it without a call.
func (w *walk) claim() {
	if w.down {
		return
	}
	t := w.State
	if w.status == open {
		w.conclude(&t, lost)
		w.do("the trust", "runs out", t, false)
	}
	if t = w.State; w.status == open && !w.lock && w.gone == open {
		if t.gone = lost; w.unanswered && t.ask() {
			t.gone = released
		}
		w.do("a renewal", "finds no lock", t, false)
	}
	if t = w.State; w.gone != open {
		if t.gone = open; w.ending == 0 {
			w.conclude(&t, w.gone)
		}
		w.do("the renewal", "is over", t, false)
	}
	if t = w.State; w.status == lost && w.unanswered && (w.noTurn || !w.busy()) && !w.neverAsked {
		t.noteEnd(t.ask())
		w.do("what became of it", "is asked", t, false)
	}
}

func (w *walk) faults() {
	t := w.State
	if w.left.takes > 0 && (!w.lock || w.status != open || w.down) {
		t.left.takes--
		t.lock, t.newest = false, false
		if t.ticket == open {
			t.ticket = lost
		}
		w.do("another", "takes the asset", t, true)
	}
	if t = w.State; w.left.breaks > 0 && w.newest {
		t.left.breaks--
		t.lock, t.newest = false, false
		if t.ticket == open {
			t.ticket = lost
		}
		w.do("an administrator", "breaks the lock", t, true)
	}
	t = w.State
	if w.down {
		t.down, t.Memory = false, w.journal
		if w.status = w.journal.status; w.status == open {
			if t.unanswered = !w.restartForgets; !w.lock {
				status := int8(lost)
				if t.unanswered && t.ask() {
					status = released
				}
				w.conclude(&t, status)
			}
		}
		w.do("the daemon", "starts again", t, false)
		return
	}
	if w.left.crashes > 0 {
		t.left.crashes--
		t.down, t.ending, t.gone, t.Memory = true, 0, open, w.journal
		for i, c := range w.callers {
			switch {
			case c.at == sent:
				t.callers[i].at = ghost
			default:
				t.callers[i].at, t.callers[i].reply = idle, 0
			}
		}
		w.do("the daemon", "crashes", t, true)
	}
}
