// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// whole is a ticket from its first claim to its end, over two hosts.
func whole(w *world, id string) {
	a := w.claim("host-a", "web", id)
	w.step("host-a", a, "online", online, `{"port":22}`)
	w.step("host-a", a, "online", online, `{"port": 22}`)
	w.fail("host-a", a, "vuln", false)
	w.fail("host-a", a, "vuln", false)
	w.release("host-a", a)
	b := w.claim("host-b", "web", id)
	w.step("host-b", b, "vuln", examined, `{"findings":[1.50]}`)
	w.step("host-a", a, "vuln", examined, `{"findings":[]}`)
	w.step("host-b", b, "vuln", examined, `{"findings":[]}`)
	w.step("host-b", b, "online", offline, `{}`)
	w.step("host-b", b, "intel", examined, `{}`)
	w.step("host-b", b, "assess", risky, `{}`)
	w.see("host-c", "web/"+id)
	w.notify("host-b", b, "danger "+id)
	w.notify("host-b", b, "danger "+id)
	w.notify("host-b", b, "more danger")
	w.fail("host-b", b, "finish", true)
	w.send("host-b", "ops", "web/"+id, http.StatusInternalServerError)
	w.send("host-b", "ops", "web/"+id, http.StatusOK)
	w.finish("host-b", b)
	w.send("host-b", "once", "web/"+id, http.StatusOK)
	w.see("host-c", "web/"+id)
	w.claim("host-c", "web", id)
}

func taken(w *world) (zombie, holder string) {
	zombie = w.claim("host-a", "web", "t1")
	w.step("host-a", zombie, "online", offline, `{}`)
	w.pass(ttl * 1e6)
	holder = w.claim("host-b", "web", "t1")
	return zombie, holder
}

func TestATicketIsARegister(t *testing.T) {
	t.Parallel()
	judge(t, map[string]spoilt{
		"a good one": {play: func(w *world) { whole(w, "t1"); whole(w, "t2") }},
		"a zombie": {play: func(w *world) {
			a, b := taken(w)
			w.step("host-b", b, "online", online, `{}`)
			w.step("host-a", a, "online", online, `{}`)
		}},
		"no fence": {without: "fence", play: func(w *world) { a, _ := taken(w); w.step("host-a", a, "online", online, `{}`) }, broken: "G2", says: "step online"},
		"no fence over tasks": {without: "fence", play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			w.claim("host-b", "web", "t2")
			w.step("host-a", a, "online", online, `{}`)
		}, broken: "G2"},
		"a way back": {without: "no way back", play: func(w *world) { a := w.claim("host-a", "web", "t1"); w.step("host-a", a, "vuln", examined, `{}`) }, broken: "G4"},
		"not absorbed": {without: "absorbs", play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.fail("host-a", a, "vuln", true)
			w.fail("host-a", a, "vuln", true)
		}, broken: "G4"},
		"recorded twice": {without: "recorded once", play: func(w *world) {
			_, b := taken(w)
			w.step("host-b", b, "online", online, `{}`)
			w.step("host-b", b, "vuln", examined, `{}`)
			w.step("host-b", b, "intel", examined, `{"a":1}`)
			w.step("host-b", b, "intel", examined, `{"a":2}`)
		}, broken: "G5"},
		"a repeat counts":     {without: "replay", play: func(w *world) { whole(w, "t1") }, broken: "G5"},
		"a failure twice":     {without: "counted once", play: func(w *world) { whole(w, "t1") }, broken: "G5", says: "fail of vuln"},
		"the second words":    {without: "the first words stand", play: func(w *world) { whole(w, "t1") }, broken: "G4", says: "notify"},
		"a step that is gone": {without: "recorded", play: func(w *world) { whole(w, "t1") }, broken: "G4"},
	})
}

// lost adds a call that got no answer.
func (w *world) lost(host, id, name, state string) {
	w.ask(host, "POST", "/v1/claims/"+id+"/steps", dict{"step": name, "state": state}, func() (int, any) { return 0, nil })
}

func TestACallWithoutAnAnswerMayHappenUntilTheEndOrNever(t *testing.T) {
	t.Parallel()
	record := func(w *world, id string) { // it does, without an answer
		k := w.tickets["web/t1"]
		k.State, k.Steps["online"] = online, step{State: online, Token: w.claims[id].Token}
		k.Revision++
	}
	judge(t, map[string]spoilt{
		"never": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.lost("host-a", a, "online", online)
			w.see("host-b", "web/t1")
		}},
		"late": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.lost("host-a", a, "online", online)
			w.see("host-b", "web/t1")
			record(w, a)
			w.see("host-b", "web/t1")
			w.step("host-a", a, "online", online, `{}`)
		}},
		"not asked": {play: func(w *world) { a := w.claim("host-a", "web", "t1"); record(w, a); w.see("host-b", "web/t1") }, broken: "G4"},
		"asked of nobody": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.lost("host-a", a, "online", online)
			w.last().Error = `Post "http://picket/v1/claims": dial unix picketd.sock: connect: connection refused`
			record(w, a)
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"undone": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.lost("host-a", a, "online", online)
			record(w, a)
			w.see("host-b", "web/t1")
			k := w.tickets["web/t1"]
			k.State, k.Steps = initial, map[string]step{}
			w.see("host-b", "web/t1")
		}, broken: "G4"},
		"by one who is fenced off": {play: func(w *world) {
			a, _ := taken(w)
			w.lost("host-a", a, "online", online)
			record(w, a)
			w.see("host-b", "web/t1")
		}, broken: "G2"},
		"done, and refused as stale": {play: func(w *world) {
			_, b := taken(w)
			w.step("host-b", b, "online", online, `{}`)
			w.last().Status, w.last().Body = http.StatusConflict, []byte(`{"code":"STALE_TOKEN","detail":"so it is"}`)
			w.see("host-b", "web/t1")
		}, broken: "G2", says: "as if this had been done: step online"},
		"a finish that came twice": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.step("host-a", a, "online", offline, `{}`)
			w.ask("host-a", "POST", "/v1/claims/"+a+"/finish", dict{}, func() (int, any) { w.tickets["web/t1"].State = finished; return 0, nil })
			w.see("host-b", "web/t1")
			w.finish("host-a", a)
		}},
	})
}

func TestAdministratorsEndRunsAndClaims(t *testing.T) {
	t.Parallel()
	reopen := func(w *world, after string) {
		w.ask("host-c", "POST", "/v1/tickets/web/t1/reopen", dict{"reason": "so it is"}, func() (int, any) {
			k := w.tickets["web/t1"]
			if w.token += 5; w.without == "" {
				w.holder["web"] = 0
			}
			w.tickets["web/t1"] = &ticket{ID: k.ID, State: after, Run: k.Run + 1, Token: w.token, Revision: k.Revision + 1, Steps: map[string]step{}}
			w.audit("host-c", dict{"EVENT": "reopened", "CALL": "reopen", "TICKET": "web/t1"})
			return http.StatusOK, dict{"ticket": w.shown("web/t1")}
		})
	}
	held := func(w *world) string {
		a := w.claim("host-a", "web", "t1")
		w.fail("host-a", a, "online", true)
		return a
	}
	stop := func(w *world) {
		w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() { w.holder["web"] = 0 })
	}
	judge(t, map[string]spoilt{
		"reopened":              {play: func(w *world) { held(w); reopen(w, initial); w.claim("host-b", "web", "t1") }, excused: "G1: an administrator took it from its holder"},
		"and the holder writes": {without: "fence", play: func(w *world) { a := held(w); reopen(w, initial); w.step("host-a", a, "online", online, `{}`) }, broken: "G2"},
		"not to its beginning":  {play: func(w *world) { held(w); reopen(w, online) }, broken: "G4", says: "reopen"},
		"broken": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			stop(w)
			w.step("host-a", a, "online", online, `{}`)
		}},
		"and he goes on": {without: "fence", play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			stop(w)
			w.step("host-a", a, "online", online, `{}`)
		}, broken: "G2"},
	})
}

func TestTrustedWindows(t *testing.T) {
	t.Parallel()
	two := func(w *world) {
		w.claim("host-a", "web", "t1")
		w.pass(ttl * 1e5)
		w.claim("host-b", "web", "t2")
	}
	during := func(loses bool) func(w *world) {
		return func(w *world) {
			w.claim("host-a", "web", "t1")
			w.fault("fault", "redis", loses, false, func() {})
			w.claim("host-b", "web", "t2")
		}
	}
	set := func(by, before time.Duration) func(w *world) {
		return func(w *world) { w.clock(by, func() { w.pass(before); two(w); w.pass(time.Minute) }) }
	}
	promoted := func(w *world) {
		w.claim("host-a", "web", "t1")
		w.fault("planned failover", "", false, false, func() {})
		w.claim("host-b", "web", "t2")
	}
	hung := func(lasts time.Duration) func(w *world) {
		return func(w *world) {
			w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent"}})
			w.claim("host-a", "web", "t1")
			w.spoil(`"heartbeat_ms":10000`, `"heartbeat_ms":null`)
			w.spoil(`"pid":null`, `"pid":77`)
			due := w.records[len(w.records)-1].At + int64(lasts)
			w.claim("host-b", "web", "t2")
			w.see("host-a", "web/t1")
			w.pass(ttl * 1e6)
			w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent", End: true, Due: due}})
		}
	}
	judge(t, map[string]spoilt{
		"one after the other": {play: func(w *world) { w.claim("host-a", "web", "t1"); w.pass(ttl * 1e6); w.claim("host-b", "web", "t2") }},
		"two assets":          {play: func(w *world) { w.claim("host-a", "web", "t1"); w.claim("host-b", "db", "t1") }},
		"released":            {play: func(w *world) { w.release("host-a", w.claim("host-a", "web", "t1")); w.claim("host-b", "web", "t2") }},
		"two at once":         {play: two, broken: "G1", says: "of t2 on host-b"},
		"data are lost":       {play: during(true), excused: "G1: Redis lost data"},
		"any other fault":     {play: during(false), broken: "G1"},
		"a clock is set":      {play: set(time.Minute, time.Second), excused: "G1: the clock of a Redis was set forward"},
		"it was set before":   {play: set(time.Minute, 10*time.Second), broken: "G1"},
		"it is set back":      {play: set(-time.Minute, time.Second), broken: "G1"},
		"another node's is, which becomes the master": {
			play:    func(w *world) { w.clock(time.Minute, func() { w.pass(time.Minute); promoted(w); w.pass(time.Minute) }) },
			excused: "G1: the clock of a Redis was set forward",
		},
		"another becomes the master": {play: promoted, broken: "G1"},
		"a loss of long before":      {play: func(w *world) { w.fault("flush", "redis", true, false, func() {}); w.pass(2 * ttl * 1e6); two(w) }, broken: "G1"},
		"its agent died": {play: func(w *world) {
			w.claim("host-a", "web", "t1")
			w.claim("host-b", "web", "t2")
			w.add("agents", history.Record{Process: &history.Process{PID: w.records[1].Call.PID, Host: "host-a", Kind: "agent", End: true}})
		}},
		"what it hung on ended before it was told": {play: func(w *world) {
			w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent"}})
			w.claim("host-a", "web", "t1")
			w.spoil(`"heartbeat_ms":10000`, `"heartbeat_ms":null`)
			w.spoil(`"pid":null`, `"pid":77`)
			answer := w.records[len(w.records)-1]
			w.records = w.records[:len(w.records)-1]
			w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent", End: true}})
			w.add(answer.By, answer)
			w.claim("host-b", "web", "t2")
		}},
		"what it hung on ended while it was frozen": {play: func(w *world) {
			w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent"}})
			w.claim("host-a", "web", "t1")
			w.spoil(`"heartbeat_ms":10000`, `"heartbeat_ms":null`)
			w.spoil(`"pid":null`, `"pid":77`)
			w.fault("agent freezes", "agent host-a/1", false, false, func() { w.claim("host-b", "web", "t2") })
			w.see("host-a", "web/t1")
			w.add("agent host-a/1.1", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent", End: true}})
		}},
		"what it hung on ended, and its holder calls on": {play: hung(0)},
		"what it hung on was to live on":                 {play: hung(time.Minute), broken: "G1"},
		"told that it is held after it was taken": {play: func(w *world) {
			id := w.claim("host-a", "web", "t1")
			w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() {})
			w.claim("host-b", "web", "t2")
			w.ask("host-a", "GET", "/v1/claims/"+id, nil, func() (int, any) { return http.StatusOK, dict{"claim": w.claims[id]} })
		}, excused: "G1: an administrator took it from its holder"},
		"an administrator ended another claim": {play: func(w *world) {
			old := w.claim("host-c", "web", "t1")
			w.release("host-c", old)
			w.claim("host-a", "web", "t1")
			w.ask("host-c", "DELETE", "/v1/claims/"+old+"?force=true", nil, func() (int, any) {
				w.audit("host-c", dict{"EVENT": "forced", "TICKET": "web/t1", "TOKEN": w.claims[old].Token, "CALL": "release"})
				return http.StatusNoContent, nil
			})
			w.claim("host-b", "web", "t2")
		}, broken: "G1"},
		"another's agent died": {play: func(w *world) {
			two(w)
			w.add("agents", history.Record{Process: &history.Process{PID: 1, Host: "host-a", Kind: "agent", End: true}})
		}, broken: "G1"},
	})
}

func TestTokensOnlyGrow(t *testing.T) {
	t.Parallel()
	two := func(w *world) {
		w.claim("host-a", "web", "t1")
		w.pass(ttl * 1e6)
		w.claim("host-b", "web", "t2")
	}
	none := func(*world) {}
	lossy := func(host string, between func(w *world)) func(w *world) {
		return func(w *world) {
			w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			w.fault("flush", "redis", true, false, func() {})
			between(w)
			w.pass(ttl * 1e6)
			w.claim(host, "web", "t2")
		}
	}
	behind := func(host string, between func(w *world)) func(w *world) {
		return func(w *world) { w.clock(-time.Minute, func() { lossy(host, between)(w) }) }
	}
	starts := func(w *world) {
		w.add("stage", history.Record{Process: &history.Process{PID: 7, Host: "host-a", Kind: "daemon"}})
	}
	const excused = "G3: Redis lost data, its clock was behind, and another daemon minted"
	judge(t, map[string]spoilt{
		"they grow":                          {play: two},
		"back":                               {without: "tokens grow", play: two, broken: "G3", says: "after token"},
		"back after a loss":                  {without: "tokens grow", play: lossy("host-b", none), broken: "G3"},
		"a loss, and the clock is behind":    {without: "tokens grow", play: behind("host-b", none), excused: excused},
		"the same daemon mints":              {without: "tokens grow", play: behind("host-a", none), broken: "G3"},
		"it was started between":             {without: "tokens grow", play: behind("host-a", starts), excused: excused},
		"the clock was put right before":     {without: "tokens grow", play: func(w *world) { w.clock(-time.Minute, func() {}); lossy("host-b", none)(w) }, broken: "G3"},
		"and the clock is behind, all there": {without: "tokens grow", play: func(w *world) { w.clock(-time.Minute, func() { two(w) }) }, broken: "G3"},
		"the same twice": {play: func(w *world) {
			w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			w.token -= 10
			delete(w.claims, "claim-1010")
			w.claim("host-b", "web", "t2")
			w.records[len(w.records)-1].Answer.Body = []byte(`{"claim":{"id":"another","token":1010,"asset":"web","task":"t2","status":"held"}}`)
		}, broken: "G3", says: "two claims"},
	})
}
