// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

func (w *walk) daemonSteps(d int) {
	p := w.daemon[d]
	if p.knows != w.data || !p.looked {
		t := w.State
		t.daemon[d].knows, t.daemon[d].looked = w.data, true
		w.by(d, "looks which data Redis has", t)
	}
	if w.left.deaths > 0 {
		t := w.State
		t.left.deaths--
		t.daemon[d] = Daemon{dead: true}
		if d == 1 && t.reopen != sent {
			t.reopen = none
		}
		w.by(d, "dies", t)
	}
	if d == 1 && p.call.at == idle { // somebody's run there
		t := w.State
		t.daemon[d].call = Call{at: began, basis: Basis{of: p.knows}, sure: p.looked}
		w.by(d, "is asked for the chunk", t)
	}
	if p.call.at != idle {
		w.callSteps(d)
	}
}

// callSteps go on with a call: the marks, the ticket, the mark.
func (w *walk) callSteps(d int) {
	t := w.State
	c, m := &t.daemon[d].call, &t.marks[0]
	switch c.at {
	case began:
		w.readMarks(d, &t)
		if m.marked && !w.damagedNow() && (m.of == c.basis.of || !w.standing) && !(m.aged && w.age) && !w.reopensNow() {
			passed := c.sure && !w.terminal[0] && !w.pending && !w.untold
			t.answer(d, true)
			if passed {
				w.bad("passed over", who[d]+" answers from the mark", t)
			}
			w.by(d, "answers from the mark", t)
			return
		}
		c.at = hasEpoch
		w.by(d, "reads the marks", t)
	case hasEpoch:
		if !w.terminal[0] {
			t.answer(d, false)
			w.by(d, "answers that the asset is not done", t)
			return
		}
		c.at = hasBoth
		w.by(d, "reads the ticket", t)
	case hasBoth:
		if !w.epochFirst {
			w.readMarks(d, &t)
		}
		if !w.standingFirst {
			c.basis.of, c.sure = t.daemon[d].knows, t.daemon[d].looked
		}
		if c.open && (m.epoch == c.basis.epoch && m.epoch != 0 || !w.epoch) {
			m.marked, m.of, m.aged = true, c.basis.of, w.expired
		}
		t.answer(d, true)
		w.by(d, "marks, and answers that the asset is done", t)
	}
}

func (w *walk) damagedNow() bool { return w.State.damaged && w.Rules.damaged }

func (w *walk) reopensNow() bool { return w.marks[0].reopening != 0 && w.reopening }

// readMarks is the script chunk.
func (w *walk) readMarks(d int, t *State) {
	c, m := &t.daemon[d].call, &t.marks[0]
	if w.reopensNow() {
		c.basis.epoch, c.open = m.reopening, false
		return
	}
	if m.epoch == 0 {
		m.epoch = t.fresh()
	}
	c.basis.epoch, c.open = m.epoch, true
}

// answer ends a call; done: the asset is.
func (s *State) answer(d int, done bool) {
	c := s.daemon[d].call
	s.daemon[d].call = Call{}
	switch {
	case !c.forRun || c.check:
	case done:
		s.run, s.saw = toCheck, c.basis
	default:
		s.run, s.saw = toWork, c.basis
	}
}

// runSteps are those of the run, which asks daemon 0, and of agents elsewhere.
func (w *walk) runSteps() {
	p := w.daemon[0]
	t := w.State
	switch {
	case w.run == toLook && p.call.at == idle && !p.dead:
		t.daemon[0].call = Call{at: began, basis: Basis{of: p.knows}, sure: p.looked, forRun: true}
		w.do("the run asks for the chunk", t)
	case w.run == toWork:
		t.work()
		t.run = toCheck
		w.do("the run works on the asset, or finds it done", t)
	case w.run == toCheck && p.call.at == idle && !p.dead:
		if !w.check {
			w.end(t, p.looked)
			return
		}
		t.daemon[0].call = Call{at: began, basis: Basis{of: p.knows}, sure: p.looked, forRun: true, check: true}
		w.do("the run asks whether all holds", t)
	case w.run == toCheck && p.call.check && p.call.at == began: // the marks tell the epoch
		sure := p.call.sure
		w.readMarks(0, &t)
		basis := t.daemon[0].call.basis
		t.daemon[0].call = Call{}
		if basis == w.saw {
			w.end(t, sure)
			return
		}
		t.run = toLook
		w.do("the run goes over its list again", t)
	}
	if !w.terminal[0] && w.left.others > 0 {
		t = w.State
		t.left.others--
		t.work()
		w.do("an agent elsewhere works on the asset", t)
	}
}

func (s *State) work() { s.terminal[0], s.expired, s.damaged = true, false, false }

func (w *walk) end(t State, sure bool) {
	t.run = ended
	if sure && !w.terminal[0] && !w.pending && !w.untold && !w.expired && !w.State.damaged {
		w.bad("ended", "the run ends", t)
	}
	w.do("the run ends", t)
}
