// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// operator is a retry: stage, script, commit; and what becomes of one that got no answer.
func (w *walk) operator(h int) {
	p, t := w.host[h], w.State
	q := &t.host[h]
	again := uint8(0)
	for k, ch := range w.ch {
		if ch.is == dead || ch.is == parked {
			again |= 1 << k
		}
	}
	switch e := p.box[p.write.intent]; {
	case p.call == noCall && w.left.retry > 0 && w.s != notified && again != 0:
		t.left.retry--
		t.ids++
		q.call, q.write = asks, Write{t.ids, w.intent, again}
		n := Entry{at: staged, after: w.intent}
		for k, ch := range w.ch {
			if ch.is != sent {
				n.ch[k] = open
			}
		}
		q.box[t.ids] = n
		w.fault(h, -1, "stages a retry", t)
	case p.call == asks && !w.applies(p.write):
		q.call, q.write, q.box[p.write.intent] = noCall, Write{}, Entry{}
		w.do(h, -1, "is told that the ticket has moved on", t)
	case p.call == asks:
		w.apply(&t, h, p.write)
		q.call = written
		w.do(h, -1, "writes its retry", t)
		if w.left.late > 0 && w.late.intent == 0 {
			copied := t
			copied.left.late--
			copied.late, copied.lateBy = p.write, uint8(h)
			w.fault(h, -1, "writes its retry, a copy is held back", copied)
			later := w.State
			later.left.late--
			later.late, later.lateBy = p.write, uint8(h)
			later.host[h].call, later.host[h].write = noCall, Write{}
			w.fault(h, -1, "writes its retry, delayed; gives up", later)
		}
		if w.left.lost > 0 {
			t.left.lost--
			q.call, q.write = noCall, Write{}
			w.fault(h, -1, "writes its retry, the reply is lost", t)
		}
	case p.call == written:
		q.call, q.write = noCall, Write{}
		if e.at == staged {
			q.box[p.write.intent].at = sendable
		}
		if w.intent == p.write.intent { // nobody has retried it meanwhile
			for k := range w.ch {
				if p.write.again>>k&1 == 1 && w.ch[k].is == pending {
					t.due |= 1 << k
				}
			}
		}
		w.do(h, -1, "commits its retry, and says so", t)
	}
	for i, e := range p.box {
		if e.at != staged || w.rules.neverSettle || p.call != noCall && int(p.write.intent) == i {
			continue
		}
		t := w.State
		switch {
		case w.intent == uint8(i):
			t.host[h].box[i].at = sendable
			w.do(h, -1, "finds its retry on the ticket", t)
		case w.s == notified || w.intent != e.after || w.late.intent != uint8(i):
			t.host[h].box[i] = Entry{}
			w.do(h, -1, "drops its retry", t)
		}
	}
}

// applies reports whether the script of a retry is not refused: something of it is left to be tried again.
func (w *walk) applies(write Write) bool {
	left := w.rules.settledToo
	for k, ch := range w.ch {
		left = left || write.again>>k&1 == 1 && (ch.is == dead || ch.is == parked)
	}
	return left && w.s != notified && w.intent != write.intent && (w.intent == write.before || w.rules.anyBefore)
}

// apply is the script of a retry.
func (w *walk) apply(t *State, h int, write Write) {
	if w.left.loss > 0 {
		t.before = w.Ticket
	}
	t.s, t.intent, t.known, t.owner = notifying, write.intent, w.known|1<<write.intent, uint8(h)
	for k, ch := range w.ch {
		in := ch.is == dead || ch.is == parked
		if write.again>>k&1 == 1 && in || w.rules.retryAll && ch.is == sending {
			t.ch[k] = Channel{}
			switch counts := w.counted>>write.intent&1 == 0; {
			case counts && ch.is == parked: // what was begun may still arrive
				t.allowed[k] = min(t.allowed[k]+1, 3)
			case counts && ch.is == dead:
				t.allowed[k] = max(t.allowed[k], 1)
			}
		}
	}
	t.counted |= 1 << write.intent
}

// heed is a host's round: what the ticket says of an intent that it has to send.
func (w *walk) heed(h, i int) {
	e, t := w.host[h].box[i], w.State
	q := &t.host[h].box[i]
	switch {
	case e.at != sendable:
		return
	case w.intent != uint8(i) && w.known>>i&1 == 1:
		q.at = shut
		w.do(h, -1, "sees that its intent was replaced", t)
		return
	case w.intent != uint8(i):
		if now := w.host[h].box[w.intent]; w.s == notifying && w.owner == uint8(h) && (now.at == none || now.at == shut && !w.rules.shutForGood) {
			w.adopt(&t, h)
			w.do(h, -1, "takes in what the ticket tells instead", t)
		}
		return
	}
	for k, is := range e.ch {
		if is != open && is != begun && is != waits {
			continue
		}
		switch w.ch[k].is {
		case sent:
			q.ch[k] = toldSent
		case dead:
			q.ch[k] = toldDead
		}
	}
	if q.shutDone(); t != w.State {
		w.do(h, -1, "takes over what the ticket says", t)
	}
}

// takeUp is for what a host answers for and does not have, and for what another one does that is gone.
func (w *walk) takeUp(h int) {
	if w.s != notifying {
		return
	}
	t, p, other := w.State, w.host[h], w.host[1-h]
	has := false
	for _, e := range p.box {
		has = has || e.at == staged || e.at == sendable
	}
	for _, ch := range p.box[w.intent].ch {
		has = has || taken <= ch && ch <= refused // it is at work
	}
	again := p.box[w.intent].at != shut || !w.rules.shutForGood
	switch {
	case w.owner == uint8(h):
		if w.adopt(&t, h); !has && again && t != w.State {
			w.do(h, -1, "takes the ticket's intent in", t)
		}
	case other.gone == 1 || other.down == 1:
		w.adopt(&t, h)
		t.owner = uint8(h)
		w.do(h, -1, "takes over", t)
	case w.left.expire > 0:
		w.adopt(&t, h)
		t.left.expire--
		t.owner = uint8(h)
		w.fault(h, -1, "takes over from a frozen one", t)
	}
}

// adopt takes the ticket's intent into an outbox. What is settled there comes to the ticket.
func (w *walk) adopt(t *State, h int) {
	q := &t.host[h].box[w.intent]
	if q.at == sendable {
		return
	}
	q.at = sendable
	for k, ch := range w.ch {
		switch is := q.ch[k]; {
		case is == toldSent && ch.is != sent:
			q.ch[k] = gotSent
		case is == toldDead && ch.is < parked:
			q.ch[k] = gotDead
		case is != absent && is != open && is != waits:
		case ch.is == parked:
			q.ch[k] = waits
		case ch.is < parked:
			q.ch[k] = open
		}
	}
	q.shutDone()
}
