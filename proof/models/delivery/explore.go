// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/picketd/picket/proof/models/explore"

var (
	hostNames    = []string{"A", "B"}
	channelNames = []string{"channel 0", "channel 1"}
)

func (r *Run) explore() explore.Result {
	// The first claim is host A's (0): by symmetry nothing is lost.
	start := State{s: highRisk, text: nobody, grant: 0, owner: nobody, late: nobody, left: r.faults}
	start.host = [2]Host{{up: up, believes: 1}, {up: up}}
	return explore.Space[key]{
		Start: pack(&start),
		Steps: func(k key, yield func(explore.Step[key])) {
			w := walk{r, unpack(k), func(st Step) {
				if r.faults.sum()-st.to.left.sum() <= r.most {
					yield(r.named(st))
				}
			}}
			w.steps()
		},
		Reached: func(k key) uint8 {
			s := unpack(k)
			return s.reached()
		},
		Owed: func(k key, owes func(string, uint8)) {
			s := unpack(k)
			owes("stuck", notStuck)
			owes("lost", s.owed(len(r.once)))
		},
	}.Explore()
}

func (r *Run) named(s Step) explore.Step[key] {
	n := explore.Step[key]{Name: s.name, Fault: s.fault, Bad: s.bad, To: pack(&s.to)}
	if s.host >= 0 {
		n.Who = hostNames[s.host]
	}
	if s.channel >= 0 && len(r.once) > 1 {
		n.Where = channelNames[s.channel]
	}
	return n
}

func (w *walk) steps() {
	for h := range w.host {
		p := &w.host[h]
		if p.cut == 1 {
			t := w.State
			t.host[h].cut = 0
			w.do("heals", h, t)
		}
		if p.up == down {
			t := w.State
			t.host[h].up = up
			w.do("restarts", h, t)
		}
		if p.up == up {
			w.agents(h)
			w.call(h)
			w.deliver(h)
			if p.cut == 0 {
				w.adopt(h)
				w.hints(h)
				w.heed(h)
			}
			w.hostFaults(h)
		}
	}
	w.leases()
	w.redis()
	w.copies()
	w.passes()
}
