// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"maps"
	"net/http"
	"testing"
)

func TestALossSetsARegisterBackAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	back := func(w *world) (a string, restore func()) {
		a = w.claim("host-a", "web", "t1")
		w.step("host-a", a, "online", online, `{}`)
		old := w.shown("web/t1")
		w.step("host-a", a, "vuln", examined, `{}`)
		return a, func() { w.tickets["web/t1"] = old.clone() }
	}
	none := func() {}
	judge(t, map[string]spoilt{
		"back": {play: func(w *world) {
			_, old := back(w)
			w.fault("dump", "redis", true, false, old)
			w.see("host-b", "web/t1")
		}},
		"back, and on": {play: func(w *world) {
			a, old := back(w)
			w.fault("dump", "redis", true, false, old)
			w.step("host-a", a, "vuln", examined, `{"b":1}`)
		}},
		"without a fault": {play: func(w *world) { _, old := back(w); old(); w.see("host-b", "web/t1") }, broken: "G4"},
		"with a fault that keeps all": {play: func(w *world) {
			_, old := back(w)
			w.fault("freeze", "redis", false, false, old)
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"after the fault": {play: func(w *world) {
			_, old := back(w)
			w.fault("dump", "redis", true, false, none)
			w.see("host-b", "web/t1")
			old()
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"to nothing": {play: func(w *world) {
			back(w)
			w.fault("flush", "redis", true, false, func() { delete(w.tickets, "web/t1") })
			w.see("host-b", "web/t1")
		}},
		"to what never was": {play: func(w *world) {
			_, old := back(w)
			w.fault("dump", "redis", true, false, func() { old(); w.tickets["web/t1"].State = risky })
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"to what it was for a moment, of which nobody was told": {play: func(w *world) {
			moment := risen(w, notified)
			w.fault("dump", "redis", true, false, moment)
			w.see("host-b", "web/t1")
		}},
		"to that without a fault": {play: func(w *world) { risen(w, notified)(); w.see("host-b", "web/t1") }, broken: "G4"},
		"twice": {play: func(w *world) {
			a, old := back(w)
			w.fault("dump", "redis", true, false, old)
			w.step("host-a", a, "vuln", examined, `{"b":1}`)
			old = w.again("web/t1")
			w.step("host-a", a, "assess", risky, `{}`)
			w.fault("flush", "redis", true, false, func() { delete(w.tickets, "web/t1") })
			w.see("host-b", "web/t1")
			w.fault("dump", "redis", true, false, old)
			w.see("host-b", "web/t1")
		}},
		"to what is only recorded behind it": {play: func(w *world) {
			a, old := back(w)
			w.fault("dump", "redis", true, false, old)
			w.see("host-b", "web/t1")
			w.step("host-a", a, "vuln", examined, `{"b":1}`)
			later := w.again("web/t1")
			old()
			w.fault("dump", "redis", true, false, func() {})
			w.see("host-b", "web/t1")
			later()
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"the grant as well": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			b := w.claim("host-b", "web", "t1")
			w.step("host-b", b, "online", offline, `{}`)
			w.fault("dump", "redis", true, false, func() {
				w.holder["web"] = w.claims[a].Token
				w.tickets["web/t1"] = &ticket{ID: "web/t1", State: initial, Run: 1, Token: w.claims[a].Token, Steps: map[string]step{}}
			})
			w.step("host-b", b, "online", online, `{}`)
			w.step("host-a", a, "online", online, `{}`)
		}},
		"and both write": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			b := w.claim("host-b", "web", "t1")
			w.fault("dump", "redis", true, false, func() {})
			w.step("host-b", b, "online", offline, `{}`)
			w.without, w.holder["web"] = "fence", 0
			w.step("host-a", a, "online", online, `{}`)
		}, broken: "G2"},
		"answers of meanwhile do not last": {play: func(w *world) {
			a, old := back(w)
			w.fault("cut", "redis", true, false, func() { w.step("host-a", a, "assess", risky, `{}`); old() })
			w.see("host-b", "web/t1")
		}},
	})
}

// risen is a ticket whose notification is delivered and that is seen at its end. The function sets it to the state in which it may have been
// before.
func risen(w *world, state string) (back func()) {
	a := w.claim("host-a", "web", "t1")
	for _, s := range [][2]string{{"online", online}, {"vuln", examined}, {"assess", risky}} {
		w.step("host-a", a, s[0], s[1], `{}`)
	}
	w.notify("host-a", a, "danger")
	then := w.shown("web/t1")
	then.State = state
	w.send("host-a", "ops", "web/t1", http.StatusOK)
	w.send("host-a", "once", "web/t1", http.StatusOK)
	w.see("host-b", "web/t1")
	return func() { w.tickets["web/t1"] = then.clone() }
}

// again sets a ticket to what it is now.
func (w *world) again(id string) func() {
	now := w.shown(id)
	return func() { w.tickets[id] = now.clone() }
}

func (t *ticket) clone() *ticket {
	other := *t
	other.Steps = maps.Clone(t.Steps)
	return &other
}

func TestARegisterOfAListBeginsWithTheFirstClaimThatIsRecorded(t *testing.T) {
	t.Parallel()
	const id = "run-1/r0"
	found := func(w *world, token int64) string {
		w.tickets[id] = &ticket{ID: id, State: online, Run: 1, Token: 900, Steps: map[string]step{"online": {State: online, Token: 900}}}
		w.audit("host-c", dict{"EVENT": "claimed", "ASSET": "run-1", "TICKET": id, "TOKEN": token})
		return w.claim("host-a", "run-1", "r0")
	}
	judge(t, map[string]spoilt{
		"resumed": {play: func(w *world) { w.step("host-a", found(w, 900), "vuln", examined, `{}`); w.see("host-b", id) }},
		"not along the flow": {without: "no way back", play: func(w *world) {
			w.step("host-a", found(w, 900), "assess", risky, `{}`)
		}, broken: "G4"},
		"not what it was": {play: func(w *world) {
			found(w, 900)
			w.tickets[id].State, w.tickets[id].Steps = initial, map[string]step{}
			w.see("host-b", id)
		}, broken: "G4"},
		"by a zombie": {without: "fence", play: func(w *world) {
			a := found(w, 900)
			w.pass(ttl * 1e6)
			w.claim("host-b", "run-1", "r0")
			w.step("host-a", a, "vuln", examined, `{}`)
		}, broken: "G2"},
		"with an outbox that keeps what Redis lost": {play: func(w *world) {
			w.fault("flush", "redis", true, false, func() {})
			found(w, 900)
			w.admin("host-c", "POST", "/v1/outbox/run-1/r0/retry", "retry", "retried", func() {})
		}},
		"without a loss": {play: func(w *world) {
			found(w, 900)
			w.admin("host-c", "POST", "/v1/outbox/run-1/r0/retry", "retry", "retried", func() {})
			w.see("host-c", id)
		}, broken: "G4"},
		"while picket run is at it": {play: func(w *world) {
			found(w, 2000)
			w.tickets[id].State = examined
			w.see("host-b", id)
		}},
	})
}
