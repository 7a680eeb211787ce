// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// deliver is what the notifier does with a channel of an entry.
func (w *walk) deliver(h, i, k int) {
	e, t := w.host[h].box[i], w.State
	q := &t.host[h].box[i]
	switch e.ch[k] {
	case open, begun:
		if e.at == sendable {
			w.ask(h, i, k)
		}
	case taken:
		t.due &^= 1 << k
		if k == 0 && w.left.no > 0 {
			t.left.no--
			q.ch[k] = refused
			w.fault(h, k, "sends, and is refused", t)
			t.left.no++
		}
		q.ch[k] = accepted
		bad := t.arrive(k, w.once[k])
		w.step(h, k, "sends", false, bad, t)
	case accepted:
		q.ch[k] = gotSent
		w.do(h, k, "has the receipt in its outbox", t)
	case refused:
		q.ch[k] = gotDead
		w.do(h, k, "has the refusal in its outbox", t)
	case gotSent, gotDead, gotParked:
		w.outcome(&t, h, i, k)
		w.do(h, k, "brings the outcome to the ticket", t)
	}
}

// ask is for an attempt: first the own outbox, then one script.
func (w *walk) ask(h, i, k int) {
	p, ch := w.host[h], w.ch[k]
	t := w.State
	q := &t.host[h].box[i]
	receipt := false
	for j, other := range p.box {
		is := other.ch[k]
		if j != i && taken <= is && is <= refused && !w.rules.twoAtOnce {
			return // one at a time
		}
		receipt = receipt || is == gotSent || is == toldSent
	}
	if receipt {
		q.ch[k] = gotSent
		w.do(h, k, "finds its own receipt", t)
		return
	}
	current := w.intent == uint8(i)
	switch {
	case !current && w.known>>i&1 == 1:
		q.at = shut
		w.do(h, k, "is told that it was replaced", t)
	case !current && ch.is < parked: // Redis lost it, and another intent tells the same: wait
	case ch.is == sent:
		q.ch[k] = toldSent
		q.shutDone()
		w.do(h, k, "is told that it was sent", t)
	case ch.is == dead:
		q.ch[k] = toldDead
		q.shutDone()
		w.do(h, k, "is told that it is dead", t)
	case ch.is == parked && current:
		if p.box[i].ch[k] != waits {
			q.ch[k] = waits
			w.do(h, k, "is told that it is parked", t)
		}
	case ch.is == parked:
		q.ch[k] = toldDead // no ticket knows it
		q.shutDone()
		w.do(h, k, "is told that it is parked under another intent", t)
	default:
		w.attempt(h, i, k)
	}
}

func (w *walk) attempt(h, i, k int) {
	p, once, ch := w.host[h], w.once[k], w.ch[k]
	t := w.State
	q := &t.host[h].box[i]
	own := ch.is == sending && ch.host == uint8(h)
	replay := own && ch.run == p.run && (ch.intent == uint8(i) || w.rules.nameless)
	forgotten := own && (ch.run != p.run || w.rules.ownInFlight) && !once
	switch {
	case ch.is == sending && ch.lease == 1 && !replay && !forgotten: // busy
	case once && !replay && ch.is != pending:
		t.settle(k, parked)
		q.ch[k] = waits
		w.do(h, k, "parks", t)
	case once && w.begun(h, i, k): // the ticket does not know of it
		t.ch[k] = Channel{sending, uint8(h), p.run, uint8(i), 1}
		q.ch[k] = gotParked
		w.do(h, k, "is to park what it had begun", t)
	default:
		t.ch[k] = Channel{sending, uint8(h), p.run, uint8(i), 1}
		q.ch[k] = taken
		if once {
			t.due &^= 1 << k // what becomes of it may never be known
		}
		w.do(h, k, "takes an attempt", t)
		if w.left.lost > 0 {
			t.left.lost--
			q.ch[k] = open
			w.fault(h, k, "takes an attempt, the reply is lost", t)
		}
	}
}

// begun reports whether an outbox knows of an attempt of which nobody knows whether it arrived: of this intent, or of another that says the
// same. A retry is a person's word, and that of others does not count.
func (w *walk) begun(h, i, k int) bool {
	for j, e := range w.host[h].box {
		if e.ch[k] == begun && (j == i || i == 0 || w.rules.begunIsBegun) {
			return true
		}
	}
	return false
}

// outcome is one script.
func (w *walk) outcome(t *State, h, i, k int) {
	q := &t.host[h].box[i]
	ch := w.ch[k]
	got := q.ch[k]
	current, known := w.intent == uint8(i), w.known>>i&1 == 1
	under := ch.is == sending && ch.host == uint8(h) && (ch.intent == uint8(i) || w.rules.nameless) || w.rules.lateMoves
	idle := ch.is == pending || ch.is == sending && ch.lease == 0
	switch got {
	case gotSent:
		q.ch[k] = toldSent
		if (known || current) && ch.is != sent && (current || !w.rules.oldReceipt) {
			was := w.s
			t.settle(k, sent)
			if was != notifying {
				t.s = was
			}
			t.due &^= 1 << k
		}
	case gotDead, gotParked:
		to := uint8(dead)
		q.ch[k] = toldDead
		if got == gotParked {
			to, q.ch[k] = parked, waits
			if !current {
				q.ch[k] = toldDead
			}
		}
		if w.s == notifying && (known || current) && (under || current && idle) {
			t.settle(k, to)
		}
	}
	if q.at == sendable {
		if q.shutDone(); !current {
			q.at = shut
		}
	}
}
