// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

func (w *walk) hostFaults(h int) {
	if w.left.crash > 0 {
		t := w.State
		t.left.crash--
		q := &t.host[h]
		q.down, q.run, q.call, q.write = 1, w.host[h].run+1, noCall, Write{}
		for i := range q.box {
			for k, is := range q.box[i].ch {
				switch {
				case is == taken:
					q.box[i].ch[k] = open
				case (is == accepted || is == refused) && w.once[k]:
					q.box[i].ch[k] = begun
				case is == accepted || is == refused:
					q.box[i].ch[k] = open
					t.pardon(k, false)
				}
			}
		}
		w.fault(h, -1, "crashes", t)
	}
	if w.left.death > 0 && w.host[1-h].gone == 0 {
		t := w.State
		t.left.death--
		for _, e := range w.host[h].box {
			for k, is := range e.ch {
				if accepted <= is && is <= gotDead && is != begun {
					t.pardon(k, w.once[k])
				}
			}
		}
		t.host[h] = Host{gone: 1}
		w.fault(h, -1, "dies", t)
	}
}

// redis is what happens without a host.
func (w *walk) redis() {
	for k, ch := range w.ch {
		t := w.State
		t.ch[k].lease = 0
		if ch.is == sending && ch.lease == 1 {
			w.leaseEnds(k, t)
		}
		if ch.is == parked && w.s == notifying {
			t = w.State
			t.settle(k, sent)
			w.do(-1, k, "is decided by a person", t)
		}
	}
	if late := w.late; late.intent != 0 { // nothing may rely on its landing
		t := w.State
		t.late, t.lateBy = Write{}, 0
		w.do(-1, -1, "the late retry comes to nothing", t)
		if w.applies(late) {
			bad := ""
			if w.data == 0 && w.counted>>late.intent&1 == 1 {
				bad = "twice"
			}
			w.apply(&t, int(w.lateBy), late)
			w.step(-1, -1, "the late retry lands", true, bad, t)
		}
	}
	if w.left.loss > 0 && w.before.known != 0 && w.intent != w.before.intent {
		t := w.State
		t.left.loss--
		t.Ticket, t.before = w.before, Ticket{}
		t.data, t.due = 1, 0
		w.fault(-1, -1, "a failover loses the retry", t)
	}
}

// leaseEnds under whoever holds it: nobody any more, one that is away, or one that is frozen.
func (w *walk) leaseEnds(k int, t State) {
	ch := w.ch[k]
	p := w.host[ch.host]
	is := p.box[ch.intent].ch[k]
	atWork := ch.run == p.run && taken <= is && is <= refused || gotSent <= is && is <= gotDead
	switch {
	case p.gone == 1 || !atWork:
		w.do(-1, k, "'s lease ends", t)
	case p.down == 1:
		t.pardon(k, w.once[k])
		w.do(-1, k, "'s lease ends, it is away", t)
	case w.left.expire > 0:
		t.left.expire--
		t.pardon(k, w.once[k])
		w.fault(-1, k, "'s lease ends, it is frozen", t)
	}
}
