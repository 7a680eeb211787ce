// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// bump counts the ticket's revision, where it matters.
func (w *walk) bump(t *State) {
	if w.rules.revisionOnly {
		t.rev++
	}
}

// write is the fenced NOTIFYING write.
func (w *walk) write(t *State, h int) {
	t.s, t.text, t.owner, t.ch, t.n = notifying, uint8(h), uint8(h), [2]uint8{}, [2]uint8{}
	t.old &^= 1 << h // told anew
	t.replicated = 0
	w.bump(t)
}

// settle is one script: the channel, and NOTIFIED when it was the last.
func (w *walk) settle(t *State, k int, as uint8) {
	t.ch[k] = as
	for j := range w.once {
		if t.ch[j] < sent {
			return
		}
	}
	w.leave(t, notified)
}

// leave is NOTIFYING left for good; what its channels said matters no longer.
func (w *walk) leave(t *State, to uint8) {
	t.s, t.owner, t.ch = to, nobody, [2]uint8{}
	w.bump(t)
}

func (p *Host) close() {
	*p = Host{up: p.up, cut: p.cut, believes: p.believes, call: p.call}
}

// breaks is that the host's signs of life break: what it has staged may be taken over.
func (p *Host) breaks() {
	if p.box != empty {
		p.broken = 1
	}
}
