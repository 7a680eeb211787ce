// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "slices"

// deliver is for a sendable entry. It asks the ticket for its own content. If the ticket carries it, the ticket's state says
// what to do: send in NOTIFYING, close in any other. If it carries another, or is in a later run, that one is told: wait for it, and
// give way. If it carries none, Redis has lost what it had confirmed: send all the same, and leave the ticket as it is. The attempt,
// the outcome and the closing all ask so.
//
// The rule was once "lost if the ticket stands at a lower revision than the entry remembers, superseded if at none lower
// and not in NOTIFYING". That loses what was accepted, because a ticket that fell back counts on: see revisionOnly.
func (w *walk) deliver(h int) {
	p := w.host[h]
	lost := w.s <= highRisk
	foreign := !lost && w.text != p.text
	switch {
	case w.rules.lostBlind:
		lost, foreign = lost || foreign, false
	case w.rules.revisionOnly:
		lost, foreign = w.s == gone || w.rev < p.rev, false
	case w.rules.highRiskStale:
		lost, foreign = w.s == gone || w.s != highRisk && w.text != p.text, false
	}
	sendable := p.box == own || p.box == adopted
	busy, receipts := false, 0
	for k, once := range w.once {
		t := w.State
		q := &t.host[h]
		switch p.ch[k] {
		case idle:
			if sendable && !foreign && p.heeded == 0 {
				w.attempt(h, k, lost)
			}
		case taken:
			busy = true
			q.ch[k] = out
			bad := t.send(k, once, p.text)
			if once && p.begun[k] == 1 {
				bad = "once"
			}
			if once {
				q.begun[k] = 1
			}
			w.yield(Step{"sends", h, k, false, bad, t})
		case out:
			busy = true
			q.ch[k] = receipt
			w.on(k, "has the receipt in its outbox", h, t)
		case receipt:
			receipts++
			if p.cut == 0 && w.s == notifying && w.ch[k] != sent && (!lost && !foreign || w.rules.factMoves) {
				w.settle(&t, k, sent)
				w.on(k, "records the receipt", h, t)
			}
		}
	}
	if closing := w.State; w.rules.closeParked && w.s == notifying && w.text == p.text && sendable && !busy && receipts == 0 && !w.unsettled() {
		closing.host[h].close()
		w.do("closes its entry", h, closing)
	}
	// Receipts that the ticket lacks are recorded with the closing, as facts: they move nothing.
	if sendable && p.cut == 0 && !busy && (p.heeded == 1 && w.s != notifying || !lost && w.s != notifying || (lost || foreign) && receipts == len(w.once)) {
		t := w.State
		for k := range w.once {
			if foreign {
				t.gave[k] |= 1 << p.text
			}
		}
		t.host[h].close()
		w.do("closes its entry", h, t)
	}
}

// unsettled reports whether a channel on the ticket is neither sent nor parked.
func (w *walk) unsettled() bool {
	for k := range w.once {
		if w.ch[k] < sent {
			return true
		}
	}
	return false
}

// attempt begins a send, if it may.
func (w *walk) attempt(h, k int, lost bool) {
	p, once, m := w.host[h], w.once[k], &w.rules
	t := w.State
	q := &t.host[h]
	q.ch[k] = taken
	bad := ""
	if p.cut == 0 && w.s != notifying && w.data == 0 {
		bad = "superseded"
	}
	begin := func(name string) { w.yield(Step{name, h, k, false, bad, t}) }
	mine := sending0 + uint8(h)
	switch status := w.ch[k]; {
	case once && p.begun[k] == 1 && !m.begunAgain:
		// Found as begun after a crash: for a person, on the ticket if that tells it, else here alone.
		q.ch[k] = idle
		t.parked[k] |= 1 << p.text
		if p.cut == 0 && w.s == notifying && w.text == p.text && status < sent {
			w.settle(&t, k, parked)
		}
		if t != w.State {
			w.on(k, "parks what it had begun", h, t)
		}
	case lost && once && p.cut == 0 && (p.box == adopted && !m.lostCopy || p.broken == 1 && !m.lostBroken):
		q.ch[k] = idle
		t.parked[k] |= 1 << p.text
		if t != w.State {
			w.on(k, "keeps for a person what Redis has lost", h, t)
		}
	case p.cut == 1:
		// Redis is away: only the host whose own write was confirmed sends, and never on an at_most_once channel.
		if (p.box == own || m.adoptedCut) && (!once || m.onceCut) && (p.fresh == 1 || m.staleCut || p.box == adopted) {
			if w.old>>p.text&1 == 1 {
				bad = "decided"
			}
			if p.box == own {
				t.pardon(k, once)
			}
			begin("begins to send without Redis")
		}
	case lost:
		told := w.s == notified || w.s == notifying && (status == sent || status == sending0+uint8(1-h))
		switch {
		case w.old>>p.text&w.heard>>h&1 == 1:
			bad = "decided"
		case w.s > highRisk && w.text != p.text && told:
			bad = "told again"
		case once && w.out[k]>>p.text&1 == 1 && (p.box == adopted || p.broken == 1):
			bad = "once"
		}
		begin("begins to send what Redis has lost")
	case w.s == notifying && m.noAttempt && status < sent:
		begin("begins to send")
	// One script. A lease of one's own that one knows nothing of (after a crash) is as good as none, but not on an
	// at_most_once channel: there it is an attempt whose outcome nobody knows, and must run out.
	case w.s == notifying && (status == pending || status == mine && (!once || m.onceOwnLease) ||
		status == unknown && m.onceAgain || status < sent && m.ignoreLease):
		t.ch[k], t.n[k] = mine, min(w.n[k]+1, 3)
		begin("takes an attempt")
		if w.left.copy > 0 && w.n[k] < 3 {
			late := t
			late.left.copy--
			late.copied[k], late.copiedAt[k] = uint8(h)+1, w.n[k]
			w.yield(Step{"takes an attempt, a copy of its question is held back", h, k, true, bad, late})
		}
		if w.left.lost > 0 {
			t.left.lost--
			q.ch[k] = idle
			w.yield(Step{"takes an attempt, the reply is lost", h, k, true, "", t})
		}
	case w.s == notifying && status == unknown:
		q.ch[k] = idle
		t.parked[k] |= 1 << w.text
		w.settle(&t, k, parked)
		w.on(k, "parks", h, t)
	case w.s == discarded && m.sendDiscarded:
		begin("begins to send")
	}
}

// adopt is for a host without an entry, or with one that Redis has lost, which gives way here (an outbox has room for both). Ownership in Redis first, then the copy. The owner must be gone (or nobody, after
// a loss of data); to the others a frozen one is gone.
//
// A mutation that adopts without becoming the owner was not caught, and is not here: what keeps two hosts from sending at
// once is the attempt. Ownership keeps a fleet from copying what one host can do, and is not needed for safety.
func (w *walk) adopt(h int) {
	other := w.host[1-h]
	p := w.host[h]
	waits := (p.box == own || p.box == adopted) && w.text != p.text && !slices.Contains(p.ch[:], taken) && !slices.Contains(p.ch[:], out)
	if p.box != empty && !waits || w.s != notifying || w.hint == 0 {
		return
	}
	t := w.State
	q := &t.host[h]
	switch {
	case w.owner == uint8(h):
		for k := range w.once {
			if waits {
				t.gave[k] |= 1 << p.text
			}
		}
		q.close()
		q.box, q.text, q.rev = adopted, w.text, w.rev
		t.heard &^= 1 << h // if it was decided against, Redis has lost that
		w.do("adopts", h, t)
	case w.owner == nobody || other.up != up || other.cut == 1:
		t.owner = uint8(h)
		w.do("becomes owner", h, t)
	case w.left.expire > 0:
		t.left.expire--
		t.owner = uint8(h)
		t.host[1-h].breaks()
		w.fault("becomes owner for a frozen one", h, t)
	}
}

// heed is the round in which a host asks the ticket of what it has to send: it is named as the host's own, or was decided against.
func (w *walk) heed(h int) {
	p, t := w.host[h], w.State
	switch {
	case p.box == own && p.fresh == 0 && w.s == notifying && w.text == p.text && w.owner == uint8(h):
		t.host[h].fresh = 1
		w.do("is named by the ticket", h, t)
	case w.unheard(h):
		t.host[h].heeded = 1
		for k := range w.once {
			if w.text != p.text {
				t.gave[k] |= 1 << p.text
			}
		}
		w.do("takes over what was decided", h, t)
	case p.heeded == 1 && w.s == notifying && w.text == p.text && (w.owner != uint8(1-h) || w.host[1-h].up != up):
		w.leave(&t, discarded)
		w.do("puts the decision back", h, t)
	}
}

// unheard reports whether a host has to send what was decided against, and a round would find that.
func (w *walk) unheard(h int) bool {
	p := w.host[h]
	return !w.rules.noFacts && p.up == up && p.cut == 0 && (p.box == own || p.box == adopted) && p.heeded == 0 &&
		(w.s == discarded && w.text == p.text || w.s == reopened)
}

func (w *walk) hints(h int) {
	t := w.State
	if w.hint == 0 {
		if w.s == notifying && !w.rules.noSweep {
			t.hint = 1
			w.do("sweeps", h, t)
		}
		return
	}
	// "Older than any call can take": no call is on its way to NOTIFYING, and no write of one that gave up.
	calls := w.late != nobody
	for _, p := range w.host {
		calls = calls || p.call == called || p.call == hinted
	}
	if w.s != notifying && !calls || w.rules.hintAnytime {
		t.hint = 0
		w.do("drops the hint", h, t)
	}
}
