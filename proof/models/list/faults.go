// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// unmark is the script: no mark is left, and none is made for a while.
func (s *State) unmark() {
	s.marks[0] = Marks{reopening: s.fresh()}
}

// reopens are the steps of an administrator's call at daemon 1: unmark, reopen, unmark. The reopen itself may land when nobody waits for
// it any more; in the design until its time is over, which is before that of the marks.
func (w *walk) reopens() {
	t := w.State
	lands := func(name string, to int8) {
		t := w.State
		t.reopen, t.terminal[0] = to, false
		w.do(name, t)
	}
	switch w.reopen {
	case none:
		if w.terminal[0] && w.left.reopens > 0 && !w.daemon[1].dead {
			t.left.reopens--
			t.reopen, t.pending = unmarked, true
			if w.unmarkBefore {
				t.unmark()
			}
			w.do("B takes the marks away, to reopen", t)
		}
	case unmarked:
		t.reopen = sent
		w.do("B sends the reopen, and gives it up", t)
		if w.terminal[0] {
			lands("B reopens the ticket", opened)
		}
	case sent:
		t.reopen = none
		w.do("the reopen comes to nothing", t)
		if w.terminal[0] && (w.pending || !w.late) {
			lands("the reopen lands", none)
		}
	case opened:
		t.reopen, t.pending, t.untold = none, false, false
		if w.unmarkAfter {
			t.unmark()
		}
		w.do("B takes the marks away again, the administrator is answered", t)
	}
	// The time of a call is over: what it does, it has done. Not that of one that still answers.
	if w.marks[0].reopening != 0 || w.pending {
		if w.reopen == none || w.reopen == sent {
			t := w.State
			t.marks[0].reopening, t.pending = 0, false
			w.do("the time of the reopen is over", t)
		}
	}
}

// redis is what happens in Redis without a caller.
func (w *walk) redis() {
	if w.left.losses > 0 && w.marks[1] != w.marks[0] {
		t := w.State
		t.marks[1] = w.marks[0]
		w.do("the replica has the marks", t)
	}
	if w.left.losses > 0 && w.terminal[1] != w.terminal[0] {
		t := w.State
		t.terminal[1] = w.terminal[0]
		w.do("the replica has the ticket", t)
	}
	if w.terminal[0] && !w.pending && w.left.others > 0 {
		t := w.State
		t.left.others--
		t.terminal[0], t.expired, t.marks[0].aged = false, true, true
		w.do("the ticket expires", t)
		t = w.State
		t.left.others--
		t.terminal[0], t.damaged = false, true
		w.do("the ticket is found damaged", t)
	}
	if w.left.losses == 0 {
		return
	}
	t := w.State
	t.marks[0] = Marks{}
	t.lose(marksAt, false, true)
	w.do("the marks' master loses its data", t)
	t = w.State
	t.marks[0] = w.marks[1]
	t.lose(marksAt, true, w.promotions)
	w.do("the marks' replica takes over", t)
	t = w.State
	t.terminal[0], t.expired = false, false
	t.lose(ticketAt, false, true)
	w.do("the ticket's master loses its data", t)
	t = w.State
	t.terminal[0] = w.terminal[1]
	t.lose(ticketAt, true, w.promotions)
	w.do("the ticket's replica takes over", t)
}
