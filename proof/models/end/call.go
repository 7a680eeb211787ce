// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

var names = [...]string{finish: "finish", release: "release"}

// call is one caller, step by step.
func (w *walk) call(i int) {
	c, t := w.callers[i], w.State
	q := &t.callers[i]
	who := names[c.kind]
	switch c.at {
	case idle:
		if c.tries == 0 || w.down || w.status == lost && w.unanswered { // it would be asked first
			return
		}
		q.tries--
		if w.before(&t, i) {
			w.do(who, "is answered at once", t, false)
			return
		}
		q.at = waits
		t.ending++
		w.do(who, "begins", t, false)
	case waits:
		if w.busy() || c.kind == finish && w.status == lost && w.unanswered && !w.lostIsLost {
			return
		}
		if w.before(&t, i) {
			w.over(&t, i)
			w.do(who, "hears how it ended", t, false)
			return
		}
		q.at = sent
		w.do(who, "is sent", t, false)
	case ghost:
		w.land(&t, i)
		q.at, q.reply = idle, 0
		w.do(who, "lands late", t, true)
	case sent:
		w.land(&t, i)
		q.at = replied
		w.do(who, "lands", t, false)
		if t = w.State; w.left.refusals > 0 && c.kind == finish && w.newest && w.ticket != byFinish {
			t.left.refusals--
			q.at, q.reply = replied, illegal
			w.do(who, "is not allowed", t, true)
		}
		w.silence(i)
	case replied:
		w.silence(i)
		if c.kind == finish {
			q.at = left
			w.do(who, "leaves its turn", t, false)
			return
		}
		w.hear(&t, i)
		w.over(&t, i)
		w.do(who, "is answered", t, false)
	case left:
		if w.hear(&t, i); c.reply == illegal && w.status == lost && w.unanswered {
			return // that is asked first
		}
		w.over(&t, i)
		w.do(who, "is answered", t, false)
		if t = w.State; c.reply == finished && w.left.unreadables > 0 {
			t.left.unreadables--
			if !w.readFirst {
				w.hear(&t, i)
			}
			t.doneFinish = true // the audit was told of it
			w.over(&t, i)
			w.do(who, "cannot be answered", t, true)
		}
	}
}

// before is whether a call is answered by what is known, and how.
func (w *walk) before(t *State, i int) bool {
	kind := t.callers[i].kind
	switch {
	case t.status == open && !(kind == finish && t.finished):
		return false
	case t.status == lost && t.unanswered && !(w.lostIsLost && kind == finish):
		return false
	case kind == finish:
		t.answerFinish()
	case t.status == released:
		t.doneRelease = true
	default:
		t.lostRelease = true
	}
	return true
}

func (s *State) answerFinish() {
	s.doneFinish, s.lostFinish = s.doneFinish || s.finished, s.lostFinish || !s.finished
}

// over ends a call.
func (w *walk) over(t *State, i int) {
	t.callers[i].at, t.callers[i].reply = idle, 0
	if t.ending--; w.oneFlag || t.ending < 0 {
		t.ending = 0
	}
}

// silence: a call gets no answer.
func (w *walk) silence(i int) {
	if w.left.silences == 0 {
		return
	}
	t := w.State
	t.left.silences--
	t.callers[i].reply = silent
	if t.callers[i].kind == finish {
		t.callers[i].at = left
	} else {
		w.hear(&t, i)
		w.over(&t, i)
	}
	w.do(names[t.callers[i].kind], "gets no answer", t, true)
}

// land is what the scripts do.
func (w *walk) land(t *State, i int) {
	q := &t.callers[i]
	switch {
	case q.kind == finish && t.ticket == byFinish:
		q.reply = finished
	case q.kind == finish && !t.newest:
		q.reply = stale
	case q.kind == finish:
		t.ticket, t.lock, q.reply = byFinish, false, finished
	case t.ticket == byFinish:
		t.lock, q.reply = false, finished
	case t.ticket == released || t.ticket == open && t.newest:
		t.lock, t.ticket, q.reply = false, released, done
	default:
		t.lock, q.reply = false, nothing
	}
}

// hear is what the daemon makes of a reply.
func (w *walk) hear(t *State, i int) {
	q := &t.callers[i]
	here := func() {
		if !w.conclude(t, released) {
			t.noteEnd(true)
		}
	}
	switch {
	case q.reply == silent:
		t.unanswered = t.unanswered || t.status == open || w.notedLate
		t.finishing = t.finishing || w.sentIsFinished && q.kind == finish
	case q.reply == illegal:
		if t.finished {
			t.doneFinish = true
		}
	case q.reply == stale:
		status := int8(lost)
		if t.unanswered && t.ask() {
			status = released
		}
		w.conclude(t, status)
		t.answerFinish()
	case q.kind == finish:
		t.finished = true
		here()
		t.doneFinish = true
	case q.reply == nothing && t.status == open && w.heldIsDone, q.reply == nothing && t.status != open && w.lateIsDone:
		here()
		t.doneRelease = true
	case q.reply == nothing:
		w.conclude(t, lost)
		t.noteEnd(t.ask())
		if t.status == released {
			t.doneRelease = true
		} else {
			t.lostRelease = true
		}
	default:
		t.finished = t.finished || q.reply == finished
		here()
		t.doneRelease = true
	}
}
