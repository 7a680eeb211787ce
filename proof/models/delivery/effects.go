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

// settle is one script: the channel, and NOTIFIED when it was the last. What is parked waits for a person.
func (w *walk) settle(t *State, k int, as uint8) {
	t.ch[k] = as
	for j := range w.once {
		if t.ch[j] != sent {
			return
		}
	}
	w.leave(t, notified)
}

// forgotten is what is wrong if Redis loses the ticket now: a channel is parked on it, a host that accepted it lives, and none has the
// content.
func (w *walk) forgotten() string {
	waits, lives := false, false
	for k := range w.once {
		waits = waits || w.s == notifying && w.ch[k] == parked
	}
	for h, p := range w.host {
		if waits && p.up != dead {
			lives = lives || w.said[w.text]>>h&1 == 1
			waits = p.box < own || p.text != w.text
		}
	}
	if waits && lives {
		return "forgotten"
	}
	return ""
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
