// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

func (w *walk) agents(h int) {
	p := w.host[h]
	if p.cut == 0 && w.left.claim > 0 && w.grant != uint8(h) && w.s <= notifying {
		t := w.State
		t.left.claim--
		t.grant, t.host[h].believes = uint8(h), 1
		t.s = max(w.s, highRisk) // a ticket that was lost is begun anew
		w.fault("claims", h, t)
	}
	if p.cut == 0 && w.left.other > 0 && w.grant == uint8(h) && w.s == highRisk {
		t := w.State
		t.left.other--
		w.bump(&t)
		w.fault("records something else", h, t)
	}
	if p.believes == 1 && p.call == noCall && p.box == empty && w.s != gone {
		t := w.State
		q := &t.host[h]
		q.call, q.box, q.text = called, staged, uint8(h)
		if w.rules.commitFirst {
			q.box = own
		}
		w.fault("stages", h, t)
	}
}

// call goes on with a notify call, or with what a crash or a lost reply left of one.
func (w *walk) call(h int) {
	p := w.host[h]
	t := w.State
	q := &t.host[h]
	mine := w.s >= notifying && w.text == p.text
	lacking := w.lacking()
	if p.call == called || p.call == hinted || p.call == written && lacking || p.call == stands && lacking {
		q.call = noCall
		w.do("gives up its call", h, t)
		t = w.State
	}
	switch {
	case p.call == called && p.cut == 0:
		q.call = hinted
		if !w.rules.hintAfter {
			t.hint = 1
		}
		w.do("hints", h, t)
	case p.call == hinted && p.cut == 0: // the fenced write
		switch {
		case w.s == highRisk && w.grant == uint8(h):
			w.write(&t, h)
			q.call, q.rev, q.fresh = written, t.rev, 1
			w.do("writes NOTIFYING", h, t)
			if w.left.lost == 0 {
				break
			}
			t.left.lost--
			q.call, q.rev = noCall, 0
			w.fault("writes NOTIFYING, the reply is lost", h, t)
			if w.late == nobody {
				t = w.State
				t.left.lost--
				t.late, q.call = uint8(h), noCall
				w.fault("writes NOTIFYING, delayed; gives up", h, t)
			}
		case w.s == notifying && (mine || w.grant == uint8(h)):
			q.call, q.rev = written, w.rev
			if !mine {
				q.call = stands
			}
			w.do("is answered 'replayed'", h, t)
		case w.s == notified && !lacking && (mine || w.grant == uint8(h)):
			// Nothing is left to be sent, so nothing is made sendable: a cut would send it again.
			q.call = committed
			if !mine {
				q.call = committedOther
			}
			q.close()
			w.do("is answered 'NOTIFIED'", h, t)
		default:
			q.call = noCall
			q.close()
			w.do("is refused", h, t)
		}
	case (p.call == written || p.call == stands) && !w.rules.noWait && w.left.failover < w.faults.failover && mine != (p.call == written):
		q.call = hinted
		w.do("writes again, as the failover ended its wait", h, t)
	case (p.call == written || p.call == stands) && lacking:
	case p.call == written || p.call == stands:
		bad := ""
		if w.rules.hintAfter {
			t.hint = 1
		}
		switch {
		case p.call == written:
			q.call, q.box = committed, own
		case !w.rules.emptyAnswer:
			q.call, q.box, q.text = committedOther, adopted, uint8(1-h)
		default:
			q.call = committedOther
			q.close()
			bad = "empty 202"
		}
		w.yield(Step{"commits", h, -1, false, bad, t})
	case p.call == committed || p.call == committedOther:
		text := h
		if p.call == committedOther {
			text = 1 - h
		}
		q.call = noCall
		t.said[text] |= 1 << h
		w.do("says 202", h, t)
	case p.box == staged && p.call == noCall && p.cut == 0 && !w.rules.neverSettle: // settled by asking Redis
		if w.s == notifying && mine {
			if lacking {
				break
			}
			q.box, q.rev, q.fresh = own, w.rev, 1
			w.do("finds its write confirmed", h, t)
			break
		}
		q.close()
		w.do("drops what it staged", h, t)
		if w.s == highRisk && w.grant == uint8(h) {
			t = w.State
			q.call = called // with a new hint: the old one may have been dropped meanwhile
			if w.rules.redoNoHint {
				q.call = hinted
			}
			w.do("tries again what it staged", h, t)
		}
	}
}

// lacking reports whether the replicas that are waited for lack the ticket's NOTIFYING write. Where no failover comes they are not looked at.
func (w *walk) lacking() bool {
	return w.faults.failover > 0 && w.replicated == 0 && !w.rules.noWait
}
