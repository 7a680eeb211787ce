// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// takeOver is inherit, step by step.
func (w *walk) takeOver() {
	p, t := w.daemon[w.d], w.State
	q := &t.daemon[w.d]
	drop := func() {
		if t.hint[p.from] == p.score {
			t.hint[p.from] = 0
		}
	}
	switch p.at {
	case idle:
		for set, score := range w.hint {
			gone := set == offered || set != int(w.d) && w.daemon[set].status != lives
			if score == 0 || !gone {
				continue
			}
			t = w.State
			q.from, q.score = int8(set), score
			switch {
			case w.owner != int8(set):
				if !w.dropYoung {
					continue // until it is older than any call
				}
				q.at = drops
				w.do("sees that the ticket is not the other's", t)
			case !p.unable:
				q.at, q.box, q.yielding = adopted, true, false
				if w.dropFirst {
					t.hint[set] = 0
				}
				w.do("takes the content over", t)
			}
		}
	case adopted:
		q.at = hinted
		if !w.hintAfter {
			t.put(w.d)
		}
		w.do("puts its hint", t)
	case hinted:
		q.at = idle
		if w.owner == p.from {
			q.at, t.owner = owns, w.d
		}
		w.do("asks for the ownership", t)
	case owns:
		q.at, q.from, q.score = idle, 0, 0
		drop()
		if w.hintAfter {
			t.put(w.d)
		}
		w.do("drops the other's hint", t)
	case drops:
		q.at, q.from, q.score = idle, 0, 0
		drop()
		w.do("drops the other's hint", t)
	}
}

// keep is what a daemon does with what it has: it sends, or offers what it cannot send.
func (w *walk) keep() {
	p, t := w.daemon[w.d], w.State
	q := &t.daemon[w.d]
	if p.box && !p.unable && !p.yielding && !w.sent {
		t.sent = true
		w.do("sends", t)
		t = w.State
	}
	switch {
	case w.owner != w.d || w.hint[w.d] == 0 && !p.box:
	case p.at == idle && !p.unable && !p.box:
		q.box = true
		w.do("takes the content in", t)
	case p.at == idle && p.unable && !w.noOffer:
		q.at, q.yielding = offering, true
		if w.offerFirst {
			t.owner = offered
		} else {
			t.put(offered)
		}
		w.do("begins to offer it", t)
	}
	if p.at == offering {
		t = w.State
		t.daemon[w.d].at = idle
		switch {
		case w.offerFirst:
			t.put(offered)
		case w.owner == w.d:
			t.owner = offered
		}
		w.do("offers it", t)
	}
}

func (w *walk) faults() {
	p := w.daemon[w.d]
	t := w.State
	q := &t.daemon[w.d]
	if p.status == dead {
		return
	}
	if p.status == still {
		q.status = lives
		w.do("goes on", t)
	}
	alive := 0
	for _, o := range w.daemon {
		if o.status != dead && !o.unable {
			alive++
		}
	}
	if w.left.deaths > 0 && (alive > 1 || p.unable) {
		t = w.State
		t.left.deaths--
		*q = Daemon{status: dead}
		w.fault("dies", t)
	}
	if p.status != lives {
		return
	}
	if w.left.crashes > 0 {
		t = w.State
		t.left.crashes--
		q.at, q.from, q.score = idle, 0, 0
		w.fault("crashes, and comes back", t)
	}
	if w.left.stills > 0 {
		t = w.State
		t.left.stills--
		q.status = still
		w.fault("stands still", t)
	}
	if w.left.unables > 0 && alive > 1 && !p.unable {
		t = w.State
		t.left.unables--
		q.unable = true
		w.fault("has the channel no more", t)
	}
}
