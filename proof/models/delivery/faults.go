// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

func (w *walk) hostFaults(h int) {
	p := w.host[h]
	if w.left.crash > 0 {
		t := w.State
		t.left.crash--
		q := &t.host[h]
		q.up, q.call = down, noCall
		q.breaks()
		if q.box == staged {
			q.rev = 0
		}
		for k, once := range w.once {
			if p.ch[k] == out {
				t.pardon(k, once)
			}
			if p.ch[k] != receipt {
				q.ch[k] = idle
			}
		}
		w.fault("crashes", h, t)
	}
	if w.left.death > 0 && w.host[1-h].up != dead {
		t := w.State
		t.left.death--
		for k, once := range w.once {
			if p.ch[k] == out || p.ch[k] == receipt && w.s == notifying && w.ch[k] != sent {
				t.pardon(k, once)
			}
		}
		t.host[h] = Host{up: dead}
		w.fault("dies", h, t)
	}
	if w.left.cut > 0 && p.cut == 0 {
		t := w.State
		t.left.cut--
		t.host[h].cut = 1
		t.host[h].breaks()
		w.fault("is cut from Redis", h, t)
	}
}

func (w *walk) leases() {
	for k, once := range w.once {
		if w.ch[k] != sending0 && w.ch[k] != sending1 {
			continue
		}
		h := int(w.ch[k] - sending0)
		p := w.host[h]
		t := w.State
		t.ch[k] = pending
		if once {
			t.ch[k] = unknown
		}
		switch {
		case p.ch[k] == idle: // nobody is at work under it
			w.on(k, "'s lease ends", h, t)
		case p.up != up || p.cut == 1:
			t.pardon(k, once)
			w.on(k, "'s lease ends, it is away", h, t)
		case w.left.expire > 0:
			t.left.expire--
			t.pardon(k, once)
			w.yield(Step{"'s lease ends, it is frozen", h, k, true, "", t})
		}
	}
}

// redis is what happens to the ticket without a host.
func (w *walk) redis() {
	if w.late != nobody { // nothing may rely on its landing
		t := w.State
		t.late = nobody
		w.do("'s late write comes to nothing", int(w.late), t)
		if w.s == highRisk && w.grant == w.late {
			w.write(&t, int(w.late))
			w.fault("'s late write lands", int(w.late), t)
		}
	}
	if w.s >= notifying && w.lacking() {
		t := w.State
		t.replicated = 1
		w.do("the replica has it", -1, t)
	}
	for k := range w.once {
		if t := w.State; w.s == notifying && w.ch[k] == parked {
			w.settle(&t, k, sent)
			w.on(k, "is decided by a person", -1, t)
		}
	}
	if w.left.failover > 0 && w.replicated == 0 && w.s >= notifying && w.s != reopened {
		t := w.State
		t.left.failover--
		t.s, t.text, t.ch, t.owner, t.disc = highRisk, nobody, [2]uint8{}, nobody, 0
		sendable := false // at one who took over: it cannot tell whether the ticket's words were promised, and does not wait
		for _, p := range w.host {
			sendable = sendable || p.box >= own && p.text == w.text
		}
		if sendable || w.out[0]|w.out[1]|w.disc != 0 {
			t.data, t.excuse = 1, [2]uint8{}
		}
		w.fault("a failover loses NOTIFYING", -1, t)
	}
	if w.left.discard > 0 && w.s == notifying {
		t := w.State
		t.left.discard--
		t.disc |= 1 << w.text
		w.leave(&t, discarded)
		w.fault("an operator discards", -1, t)
	}
	if w.left.reopen > 0 && (w.s == notified || w.s == discarded) {
		t := w.State
		t.left.reopen--
		t.s, t.text, t.disc = reopened, nobody, w.disc|1<<w.text
		w.fault("an operator reopens", -1, t)
	}
	if w.left.flush > 0 && w.s != gone {
		t := w.State
		t.left.flush--
		t.s, t.text, t.rev, t.grant, t.owner, t.hint, t.ch = gone, nobody, 0, nobody, nobody, 0, [2]uint8{}
		t.data, t.excuse = 1, [2]uint8{}
		w.yield(Step{"FLUSHALL", -1, -1, true, w.forgotten(), t})
	}
	if w.left.rollback > 0 && w.s == highRisk && w.hint == 1 {
		t := w.State
		t.left.rollback--
		t.hint, t.data, t.excuse = 0, 1, [2]uint8{}
		w.fault("Redis loses the hint", -1, t)
	}
	if w.left.rollback == 0 || w.s < notifying {
		return
	}
	// The newest writes are lost: back to HIGH_RISK, or back within NOTIFYING with any of the channels' news, the owner
	// and the newest claim lost or not; the hint, in another slot, for itself.
	for i := range 8 {
		noHint, noClaim, noOwner := i&1, i&2, i&4
		t := w.State
		t.left.rollback--
		t.data, t.excuse = 1, [2]uint8{}
		for h, p := range w.host {
			if p.heeded == 0 { // it is told anew by a ticket that knows of no decision
				t.heard &^= 1 << h
			}
		}
		if noHint != 0 {
			t.hint = 0
		}
		if noClaim != 0 {
			t.grant = w.text
		}
		if noOwner != 0 {
			t.owner = nobody
			t.s, t.text, t.ch, t.rev = highRisk, nobody, [2]uint8{}, 0
			w.yield(Step{"Redis falls back to HIGH_RISK", -1, -1, true, w.forgotten(), t})
		}
		if w.s == reopened {
			continue // what it was before is not known any more here
		}
		t.s, t.text = notifying, w.text
		if w.rules.revisionOnly {
			t.rev = 1
		}
		for news := range 1 << len(w.once) {
			open := false
			for k := range w.once {
				switch {
				case news>>k&1 == 0:
					t.ch[k] = pending
				case w.s == notifying:
					t.ch[k] = w.ch[k]
				default:
					t.ch[k] = sent
				}
				open = open || t.ch[k] != sent
			}
			if open {
				w.fault("Redis falls back within NOTIFYING", -1, t)
			}
		}
	}
}

// copies are questions for an attempt that were answered, and come once more.
func (w *walk) copies() {
	for k, by := range w.copied {
		if by == 0 {
			continue
		}
		h, t := int(by-1), w.State
		t.copied[k], t.copiedAt[k] = 0, 0
		w.on(k, "'s copy comes to nothing", h, t)
		if w.data == 0 && w.s == notifying && w.ch[k] == pending && (w.n[k] == w.copiedAt[k] || w.rules.blindCopy) {
			t.ch[k], t.n[k] = sending0+uint8(h), min(w.n[k]+1, 3)
			w.yield(Step{"'s copy takes an attempt", h, k, true, "ghost", t})
		}
	}
}

// passes is that seconds go by: whoever runs and is not cut, nor stopped in the middle of a call, has had its round.
func (w *walk) passes() {
	t := w.State
	var heard uint8
	for h, p := range w.host {
		if w.unheard(h) {
			return
		}
		if p.up == up && p.cut == 0 && p.call != written && p.call != stands && (w.s == discarded || w.s == reopened) {
			heard |= 1 << h
		}
		t.host[h].fresh = 0
	}
	if w.old != w.disc {
		t.old, t.heard = w.disc, heard
	}
	if t != w.State {
		w.do("seconds pass", -1, t)
	}
}
