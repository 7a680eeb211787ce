// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// last is the newest answer of a history, to be spoilt.
func (w *world) last() *history.Answer {
	for _, r := range slices.Backward(w.records) {
		if r.Answer != nil {
			return r.Answer
		}
	}
	panic("nobody was answered")
}

// spoil changes the newest answer's body.
func (w *world) spoil(from, to string) {
	a := w.last()
	if !strings.Contains(string(a.Body), from) {
		panic("the answer has no " + from + ": " + string(a.Body))
	}
	a.Body = json.RawMessage(strings.Replace(string(a.Body), from, to, 1))
}

func TestAClaimResumes(t *testing.T) {
	t.Parallel()
	judge(t, map[string]spoilt{
		"a step is not there": {play: func(w *world) { taken(w); w.spoil(`"online":{`, `"offline":{`) }, broken: "G6", says: "does not get it"},
		"another result":      {play: func(w *world) { taken(w); w.spoil(`"facts":{}`, `"facts":{"a":1}`) }, broken: "G6", says: "nobody recorded"},
		"another next":        {play: func(w *world) { taken(w); w.spoil(`"finish"`, `"vuln"`) }, broken: "G6", says: "may come next"},
		"after a loss": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.step("host-a", a, "online", offline, `{}`)
			w.release("host-a", a)
			w.fault("flush", "", true, false, func() { delete(w.tickets, "web/t1") })
			w.claim("host-b", "web", "t1")
		}},
	})
}

func TestARunThatEndsLeavesNothingUndone(t *testing.T) {
	t.Parallel()
	run := func(detail string, between, after func(w *world)) func(*world) {
		return func(w *world) {
			p := history.Process{PID: 9, Host: "host-a", Kind: "run", Task: "r1"}
			begin := p
			w.add("run host-a", history.Record{Process: &begin})
			a := w.claim("host-a", "run-1", "r1")
			w.step("host-a", a, "online", offline, `{}`)
			between(w)
			p.End, p.Detail = true, detail
			w.add("run host-a", history.Record{Process: &p})
			after(w)
			w.finally("run-1/r1")
		}
	}
	none := func(*world) {}
	finish := func(w *world) { w.finish("host-a", "claim-1010") }
	flush := func(w *world) { w.fault("flush", "", true, false, func() { delete(w.tickets, "run-1/r1") }) }
	judge(t, map[string]spoilt{
		"done":          {play: run("exit status 0", finish, none)},
		"undone":        {play: run("exit status 0", none, none), broken: "G6", says: "this is not"},
		"it was killed": {play: run("signal: killed", none, none)},
		"lost later":    {play: run("exit status 0", finish, flush)},
	})
}

func TestARefusalSaysWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) func(*world) {
		return func(w *world) {
			w.ask("host-a", "POST", "/v1/claims", dict{"asset": ""}, func() (int, any) {
				w.refuse("host-a", "claim", "INVALID")
				return status, json.RawMessage(body)
			})
		}
	}
	judge(t, map[string]spoilt{
		"with a code and a sentence": {play: answer(422, `{"code":"INVALID","detail":"so it is"}`)},
		"without a code":             {play: answer(422, `{"detail":"so it is"}`), broken: "G11"},
		"without a sentence":         {play: answer(422, `{"code":"INVALID"}`), broken: "G11"},
		"for no known reason":        {play: answer(500, `{"code":"INTERNAL","detail":"so it is"}`), broken: "G11"},
	})
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	// accepted is a call on a claim, or to a path, that is answered well.
	accepted := func(path, body string) func(*world) {
		return func(w *world) {
			if !strings.HasPrefix(path, "/") {
				path = "/v1/claims/gone/" + path
			}
			w.ask("host-a", "POST", path, json.RawMessage(body), func() (int, any) { return http.StatusOK, dict{} })
		}
	}
	bad := func(path, body, says string) spoilt {
		return spoilt{play: accepted(path, body), broken: "G11", says: "accepted, though in its body " + says}
	}
	judge(t, map[string]spoilt{
		"a step that is right":     {play: accepted("steps", `{"step":"online","state":"ASSET_ONLINE","facts":{"a":1}}`)},
		"a failure of a call":      {play: accepted("failures", `{"step":"notify","error":"no"}`)},
		"a notification":           {play: accepted("notification", `{"title":"x","text":"y","severity":"low","channels":["ops"]}`)},
		"an unknown step":          bad("steps", `{"step":"nonsense","state":"ASSET_ONLINE"}`, "the step is unknown"),
		"an unknown step fails":    bad("failures", `{"step":"nonsense","error":"no"}`, "the step is unknown"),
		"an unknown field":         bad("steps", `{"step":"online","state":"ASSET_ONLINE","fact":1}`, "fact is no field"),
		"no error":                 bad("failures", `{"step":"online"}`, "error is missing"),
		"no body":                  bad("failures", `1`, "step is missing"),
		"a field twice":            bad("finish", `{"summary":"a","summary":"b"}`, "summary stands twice"),
		"facts that are no object": bad("steps", `{"step":"online","state":"ASSET_ONLINE","facts":[]}`, "the facts are no object"),
		"an unknown severity":      bad("notification", `{"title":"x","text":"y","severity":"dreadful"}`, "the severity is unknown"),
		"an unknown channel":       bad("notification", `{"title":"x","text":"y","severity":"low","channels":["ops","nowhere"]}`, "a channel is unknown"),
		"too long a title":         bad("notification", `{"title":"`+strings.Repeat("x", 257)+`","text":"y","severity":"low"}`, "the title is too long"),
		"no reason":                bad("/v1/locks/web/break", `{}`, "reason is missing"),
		"an act on no channel":     bad("/v1/outbox/web/t1/discard", `{"reason":"r","channel":"nowhere"}`, "a channel is unknown"),
		"no task":                  bad("/v1/claims", `{"asset":"web"}`, "task is missing"),
		"refused": {play: func(w *world) {
			w.ask("host-a", "POST", "/v1/claims/gone/failures", json.RawMessage(`{"step":"online"}`), func() (int, any) {
				w.refuse("host-a", "fail", "INVALID")
				return problem(http.StatusUnprocessableEntity, "INVALID", nil)
			})
		}},
	})
}

func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	again := func(answers bool) func(w *world) {
		return func(w *world) {
			w.claim("host-a", "web", "t1")
			for _, r := range slices.Clone(w.records) {
				if answers && r.Answer != nil || !answers && r.Call != nil {
					w.add(r.By, r)
				}
			}
		}
	}
	judge(t, map[string]spoilt{
		"two calls":   {play: again(false), broken: harness},
		"two answers": {play: again(true), broken: harness},
	})
}

// refused is a claim that finds the asset held.
func (w *world) refused(host, asset, by string, pid int) {
	w.ask(host, "POST", "/v1/claims", dict{"asset": asset, "task": "t2"}, func() (int, any) {
		w.refuse(host, "claim", "LOCK_HELD")
		return problem(http.StatusLocked, "LOCK_HELD", dict{"holder": holder{Host: by, PID: pid, Task: "t1", RemainingMS: 1000}})
	})
}

func TestALockLivesNoLongerThanItsAgentDeserves(t *testing.T) {
	t.Parallel()
	watched := func(w *world) int {
		w.claim("host-a", "web", "t1")
		w.spoil(`"heartbeat_ms":10000`, `"heartbeat_ms":null`)
		w.spoil(`"pid":null`, `"pid":77`)
		w.add("agents", history.Record{Process: &history.Process{PID: 77, Host: "host-a", Kind: "agent", End: true}})
		return 77
	}
	beating := func(w *world) int {
		w.claim("host-a", "web", "t1")
		return w.records[1].Call.PID
	}
	later := func(claimed func(*world) int, long time.Duration, meanwhile func(*world)) func(*world) {
		return func(w *world) {
			holder := claimed(w)
			meanwhile(w)
			w.pass(long)
			w.refused("host-b", "web", "host-a", holder)
		}
	}
	told := func(claimed func(*world) int, long time.Duration) func(*world) {
		return func(w *world) {
			claimed(w)
			w.attended("host-a", long)
			for id := range w.claims {
				w.ask("host-a", "GET", "/v1/claims/"+id+"?wait=1s", nil, func() (int, any) {
					return http.StatusOK, dict{"claim": dict{"id": id, "token": w.claims[id].Token, "asset": "web", "task": "t1", "status": "held"}}
				})
			}
		}
	}
	none := func(*world) {}
	fault := func(target string) func(*world) {
		return func(w *world) { w.fault("daemon freezes", target, false, false, func() { w.pass(5 * time.Second) }) }
	}
	putBack := func(w *world) { w.clock(10*time.Second, func() { fault("host-a")(w) }) }
	judge(t, map[string]spoilt{
		"at once":                    {play: later(watched, time.Second, none)},
		"its process ended":          {play: later(watched, 4*time.Second, none), broken: "G7", says: "process ended"},
		"and the daemon froze":       {play: later(watched, 7*time.Second, fault("host-a"))},
		"until after the TTL":        {play: later(watched, 19*time.Second, fault("host-a")), broken: "G7"},
		"another's daemon froze":     {play: later(watched, 4*time.Second, fault("host-b")), broken: "G7"},
		"and the clock was set back": {play: later(watched, 12*time.Second, putBack), excused: "G7: the clock of a Redis was set back"},
		"by less than that":          {play: later(watched, 20*time.Second, putBack), broken: "G7"},
		"the clock was, long before": {play: func(w *world) {
			w.clock(-time.Minute, func() {})
			w.pass(time.Minute)
			later(watched, 19*time.Second, fault("host-a"))(w)
		}, broken: "G7"},
		"its holder is told so": {play: told(watched, 2*time.Second), broken: "G7", says: "process ended"},
		"while it can be late":  {play: told(watched, time.Second)},
		"nobody has a turn": {play: func(w *world) {
			watched(w)
			w.pass(2 * time.Second)
			told(func(*world) int { return 0 }, 0)(w)
		}},
		"of a silent one too":   {play: told(beating, 15*time.Second), broken: "G7", says: "heartbeat"},
		"within its heartbeat":  {play: later(beating, 9*time.Second, none)},
		"its heartbeat ran out": {play: later(beating, 15*time.Second, none), broken: "G7", says: "heartbeat"},
		"its cap is reached": {play: func(w *world) {
			w.claim("host-a", "web", "t1")
			w.spoil("10000", "100000")
			w.pass(65 * time.Second)
			w.refused("host-b", "web", "host-a", w.records[1].Call.PID)
		}, broken: "G7", says: "cap"},
	})
}

func TestTheLockOfTheDeadIsFreed(t *testing.T) {
	t.Parallel()
	lost := func(reason string, before, meanwhile func(*world), long time.Duration) func(*world) {
		return func(w *world) {
			before(w)
			w.audit("host-a", dict{"EVENT": "lost", "ASSET": "web", "TOKEN": 5, "REASON": reason})
			meanwhile(w)
			w.pass(long)
			w.audit("host-b", dict{"EVENT": "lost", "ASSET": "web", "TOKEN": 5, "REASON": "expired: found by the next claim"})
		}
	}
	none := func(*world) {}
	away := func(w *world) { w.fault("redis is killed", "redis-1", false, false, func() { w.pass(time.Second) }) }
	since := func(long time.Duration) func(*world) { return func(w *world) { away(w); w.pass(long) } }
	later := func(w *world) { w.pass(2 * time.Second); away(w) }
	starves := func(host string) func(*world) {
		return func(w *world) { w.audit(host, dict{"EVENT": "lost", "ASSET": "db", "TOKEN": 6, "REASON": "expired"}) }
	}
	starving := func(long time.Duration) func(*world) { return func(w *world) { w.pass(long); starves("host-a")(w) } }
	dump := func(w *world) { w.pass(2 * time.Second); w.fault("older dump", "", true, false, func() {}) }
	judge(t, map[string]spoilt{
		"it runs out":             {play: lost("process_exit", none, none, 2*time.Second), broken: "G7", says: "had ended for 2"},
		"while it is being freed": {play: lost("process_exit", none, none, time.Second)},
		"of one that expired":     {play: lost("expired", none, none, 2*time.Second)},
		"while Redis is away":     {play: lost("process_exit", none, away, 2*time.Second)},
		"just after it was away":  {play: lost("process_exit", since(4*time.Second), none, 2*time.Second)},
		"long after it was away":  {play: lost("process_exit", since(6*time.Second), none, 2*time.Second), broken: "G7"},
		"its daemon has no turn":  {play: lost("process_exit", none, starves("host-a"), 2*time.Second)},
		"it had none since":       {play: lost("process_exit", none, starving(2*time.Second), 0)},
		"it has none later":       {play: lost("process_exit", none, starving(7*time.Second), 0), broken: "G7"},
		"another has no turn":     {play: lost("process_exit", none, starves("host-c"), 2*time.Second), broken: "G7"},
		"a clock is set long before": {play: func(w *world) {
			w.clock(-time.Minute, func() {})
			w.pass(ttl * 2e6)
			lost("process_exit", none, none, 2*time.Second)(w)
		}, broken: "G7"},
		"long before it is away": {play: lost("process_exit", none, later, time.Second), broken: "G7"},
		"an older dump has it":   {play: lost("process_exit", none, dump, time.Second)},
	})
}

func TestHoldersAreTold(t *testing.T) {
	t.Parallel()
	watch := func(w *world, id, status string, reason any) {
		if status == "lost" {
			w.pass(ttl * 1e6)
			w.lose(id, reason)
		}
		w.watch(id, status, reason)
	}
	command := func(w *world, token int64, detail string) {
		w.add("command", history.Record{Process: &history.Process{PID: int(token), Host: "host-a", Kind: "command", Asset: "web", Task: "t1", Token: token, Detail: detail}})
	}
	exec := func(target string, taker func(*world)) func(*world) {
		return func(w *world) {
			w.add("exec", history.Record{Process: &history.Process{PID: 5, Host: "host-a", Kind: "exec", Asset: "web", Task: "t1"}})
			command(w, 900, "begin")
			command(w, 900, "sign")
			if target != "" {
				w.fault("exec freezes", target, false, false, func() {})
			}
			taker(w)
			w.claim("host-b", "web", "t1")
			command(w, 900, "sign")
		}
	}
	none := func(*world) {}
	judge(t, map[string]spoilt{
		"lost, with a reason": {play: func(w *world) { a := w.claim("host-a", "web", "t1"); watch(w, a, "lost", "expired") }},
		"without a reason":    {play: func(w *world) { a := w.claim("host-a", "web", "t1"); watch(w, a, "lost", nil) }, broken: "G8"},
		"for no known reason": {play: func(w *world) { a := w.claim("host-a", "web", "t1"); watch(w, a, "lost", "bored") }, broken: "G8"},
		"it lives again": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			watch(w, a, "lost", "expired")
			watch(w, a, "held", nil)
		}, broken: "G8", says: "lives again"},
		"it had ended before": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.step("host-a", a, "online", offline, `{}`)
			w.ask("host-a", "POST", "/v1/claims/"+a+"/finish", dict{}, func() (int, any) { return 0, nil })
			watch(w, a, "lost", "expired")
			w.finish("host-a", a)
		}},
		"its end was under way": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.ask("host-a", "DELETE", "/v1/claims/"+a, nil, func() (int, any) {
				watch(w, a, "lost", "expired")
				w.audit("host-a", dict{"EVENT": "released", "TICKET": "web/t1", "TOKEN": w.token, "CALL": "release"})
				return http.StatusNoContent, nil
			})
			w.release("host-a", a)
		}},
		"it ends when it was told": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.step("host-a", a, "online", offline, `{}`)
			watch(w, a, "lost", "expired")
			w.finish("host-a", a)
		}, broken: "G8", says: "lives again"},
		"it writes again": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			watch(w, a, "lost", "expired")
			w.step("host-a", a, "online", online, `{}`)
		}, broken: "G8", says: "lives again"},
		"held when another is": {play: func(w *world) { a, _ := taken(w); watch(w, a, "held", nil) }, broken: "G8", says: "told as held"},
		"held while its end is under way": {play: func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.ask("host-a", "DELETE", "/v1/claims/"+a, nil, func() (int, any) {
				w.audit("host-a", dict{"EVENT": "released", "TICKET": "web/t1", "TOKEN": w.claims[a].Token, "CALL": "release"})
				w.claim("host-b", "web", "t1")
				watch(w, a, "held", nil)
				return http.StatusNoContent, nil
			})
		}},
		"and data were lost": {play: func(w *world) {
			a, _ := taken(w)
			w.fault("flush", "", true, false, func() {})
			watch(w, a, "held", nil)
		}, excused: "G8: Redis lost data"},
		"a command that has finished goes on": {play: exec("", func(w *world) {
			w.ask("host-a", "POST", "/v1/claims/of-exec/finish", dict{}, func() (int, any) { return 0, nil })
			w.records[len(w.records)-2].Call.PID = 900
		})},
		"a command goes on":                  {play: exec("", none), broken: "G8", says: "a command under token 900"},
		"picket exec was frozen long before": {play: exec("exec host-a", func(w *world) { w.pass(4 * time.Second) }), broken: "G8"},
		"it goes on after it was killed": {play: func(w *world) {
			command(w, 900, "begin")
			w.fault("exec is killed", "exec host-a", false, false, func() {})
			w.pass(time.Minute)
			w.claim("host-b", "web", "t1")
			command(w, 900, "sign")
		}, excused: "G8: picket exec itself was killed or frozen"},
		"it goes on when its picket exec is back": {play: func(w *world) {
			exec("exec host-a", none)(w)
			w.pass(4 * time.Second)
			command(w, 900, "sign")
		}, broken: "G8"},
		"the lock was broken long before": {play: exec("", func(w *world) {
			w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() {})
			w.pass(3 * time.Second)
		}), broken: "G8"},
		"and Redis was away": {play: exec("", func(w *world) {
			w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() {})
			w.fault("redis is killed", "redis-1", false, false, func() { w.pass(3 * time.Second) })
		}), excused: "G8: an administrator took it from its holder"},
		"picket exec is frozen": {play: exec("exec host-a", none), excused: "G8: picket exec itself was killed or frozen"},
		"another's is":          {play: exec("exec host-b", none), broken: "G8"},
		"the claim is ended by force": {play: exec("", func(w *world) {
			w.ask("host-c", "GET", "/v1/claims", nil, func() (int, any) {
				return http.StatusOK, dict{"claims": []claim{{ID: "of-exec", Token: 900, Asset: "web", Task: "t1"}}}
			})
			w.ask("host-c", "DELETE", "/v1/claims/of-exec?force=true", nil, func() (int, any) {
				w.audit("host-c", dict{"EVENT": "forced", "CALL": "release", "TICKET": "web/t1", "TOKEN": 900})
				return http.StatusNoContent, nil
			})
		}), excused: "G8: an administrator took it from its holder"},
		"the lock is broken": {
			play:    exec("", func(w *world) { w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() {}) }),
			excused: "G8: an administrator took it from its holder",
		},
	})
}

func TestEachWriteLeavesOneRecord(t *testing.T) {
	t.Parallel()
	whole := func(w *world) { told(w); both(w) }
	judge(t, map[string]spoilt{
		"all":     {play: whole},
		"a write": {without: "audit of step", play: whole, broken: "G12", says: "number"},
		"a gap":   {play: func(w *world) { whole(w); w.seq["host-b"]++; w.release("host-b", w.claim("host-b", "db", "t1")) }, broken: "G12", says: "has nothing from number"},
		"a gap that is told": {play: func(w *world) {
			whole(w)
			w.seq["host-b"]++
			w.audit("host-b", dict{"EVENT": "dropped", "DROPPED": "3-4 10"})
		}},
		"twice": {play: func(w *world) { whole(w); w.seq["host-b"]--; w.audit("host-b", dict{"EVENT": "dropped"}) }, broken: "G12", says: "twice"},
		"two for one call": {play: func(w *world) {
			whole(w)
			w.audit("host-b", dict{"EVENT": "step", "CALL": "step", "TICKET": "web/t1", "TOKEN": w.token})
		}, broken: "G12", says: "3 answers, and 4 records"},
		"two for a last step that was recorded before": {play: func(w *world) {
			whole(w)
			c := w.claim("host-b", "db", "t1")
			w.step("host-b", c, "online", online, `{}`)
			w.step("host-b", c, "vuln", examined, `{}`)
			w.step("host-b", c, "assess", finished, `{}`)
			ends := dict{"step": "assess", "state": finished, "finish": true}
			w.ask("host-b", "POST", "/v1/claims/"+c+"/steps", ends, func() (int, any) {
				w.audit("host-b", dict{"EVENT": "replayed", "CALL": "step", "TICKET": "db/t1", "TOKEN": w.token})
				w.audit("host-b", dict{"EVENT": "finished", "CALL": "step", "TICKET": "db/t1", "TOKEN": w.token})
				return http.StatusOK, dict{"ticket": w.shown("db/t1"), "next": []next{}, "replayed": true}
			})
		}},
		"another by an administrator": {play: func(w *world) {
			whole(w)
			w.audit("host-b", dict{"EVENT": "forced", "CALL": "release", "TICKET": "web/t1", "TOKEN": w.token})
			w.release("host-b", fmt.Sprint("claim-", w.token))
		}},
		"as many as are recorded one by one": {play: func(w *world) {
			a, _ := taken(w)
			for range 20 {
				w.step("host-a", a, "online", online, `{}`)
			}
			w.without = "audit of refused"
			w.step("host-a", a, "online", online, `{}`)
			w.seq["host-a"]--
			w.pass(5 * time.Second)
			w.fault("daemon is killed", "host-a", false, false, func() {})
		}, excused: "G12: the daemon was killed before it had told how many more refused calls there were"},
		"no record of it": {play: func(w *world) { whole(w); w.drop("step") }, broken: "G12", says: "3 answers, and 2 records"},
		"the daemon was killed": {
			play: func(w *world) {
				whole(w)
				w.release("host-b", w.claim("host-b", "db", "t1"))
				w.drop("released")
				w.fault("daemon is killed", "host-b", false, false, func() {})
			},
			excused: "G12: the daemon was killed with the record in its queue",
		},
		"refused": {without: "audit of refused", play: func(w *world) { a, _ := taken(w); w.step("host-a", a, "online", online, `{}`); w.seq["host-a"] = 0 }, broken: "G12"},
	})
}

// drop takes the newest record of a kind out of the audit, and its number with it.
func (w *world) drop(kind string) {
	for i, r := range slices.Backward(w.records) {
		if r.Audit == nil || r.Audit.Fields["PICKET_EVENT"] != kind {
			continue
		}
		for _, later := range w.records[i+1:] {
			if later.Audit != nil && later.Audit.Host == r.Audit.Host {
				var n int
				fmt.Sscan(later.Audit.Fields["PICKET_SEQ"], &n)
				later.Audit.Fields["PICKET_SEQ"] = fmt.Sprint(n - 1)
			}
		}
		w.records = slices.Delete(w.records, i, i+1)
		return
	}
}

func TestTheHistoryOfATicketIsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	events := func(spoil func(all []event) []event) func(*world) {
		return func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.step("host-a", a, "online", offline, `{}`)
			w.fail("host-a", a, "vuln", false)
			w.fail("host-a", a, "vuln", false)
			w.step("host-a", a, "online", online, `{}`)
			all := spoil([]event{
				{Event: "claimed", To: initial},
				{Event: "step", Step: "online", From: initial, To: offline},
				{Event: "failure", Step: "vuln", From: offline, To: offline, Count: 2},
				{Event: "step", Step: "online", From: offline, To: online},
			})
			for i := range all {
				all[i].Seq += int64(i + 1)
				all[i].Token += w.token
			}
			w.ask("host-b", "GET", "/v1/tickets/web/t1/history", nil, func() (int, any) { return http.StatusOK, dict{"events": all} })
		}
	}
	more := func(e event) func([]event) []event { return func(all []event) []event { return append(all, e) } }
	ended := func(step string) func([]event) []event {
		return func(all []event) []event {
			return append(all, event{Event: "failed", From: online, To: failed}, event{Event: "notifying", From: failed, To: notifying, Reason: "retry: so it is", Token: -1},
				event{Event: "failed", Step: step, From: notifying, To: failed})
		}
	}
	release := func(from string, event string) func(*world) {
		return func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.audit("host-a", dict{"EVENT": "released", "TICKET": "web/t1", "TOKEN": w.claims[a].Token, "FROM": from, "TO": from})
			w.see("host-b", "web/t1")
			all := fmt.Sprintf(`{"events":[{"seq":1,"event":"claimed","to":"INIT","token":%[1]d},{"seq":2,"event":%[2]q,"from":"INIT","to":"INIT","token":%[1]d}]}`, w.token, event)
			w.ask("host-b", "GET", "/v1/tickets/web/t1/history", nil, func() (int, any) { return http.StatusOK, json.RawMessage(all) })
		}
	}
	judge(t, map[string]spoilt{
		"so it is": {play: events(func(all []event) []event { return all })},
		"retried": {play: events(func(all []event) []event {
			return append(all, event{Event: "failed", From: online, To: failed}, event{Event: "notifying", From: failed, To: notifying, Reason: "retry: so it is", Token: -1})
		})},
		"and given up":           {play: events(ended(""))},
		"a step fails meanwhile": {play: events(ended("vuln")), broken: "G4", says: "does not lead there"},
		"released":               {play: release(initial, "released")},
		"a release is missing":   {play: release(initial, "lost"), broken: "G12", says: "the release of token"},
		"of what was not there":  {play: release("", "lost")},
		"a write is missing":     {play: events(func(all []event) []event { return all[:3] }), broken: "G12", says: "accepted 1 times, and is 0 times"},
		"a failure is":           {play: events(func(all []event) []event { all[2].Count = 1; return all }), broken: "G12", says: "accepted 2 times, and is 1 times"},
		"a number is":            {play: events(func(all []event) []event { all[3].Seq = 1; return all }), broken: "G12", says: "not the next"},
		"it does not go on":      {play: events(func(all []event) []event { all[2].From, all[2].To = online, online; return all }), broken: "G4", says: "the state before"},
		"no such arrow":          {play: events(more(event{Event: "step", Step: "assess", From: online, To: risky})), broken: "G4", says: "does not lead there"},
		"by an older token":      {play: events(func(all []event) []event { all[3].Token = -10; return all }), broken: "G2"},
		"a token goes back":      {play: events(more(event{Event: "claimed", From: online, To: online, Token: -10})), broken: "G3"},
		"a step is there twice": {play: events(func(all []event) []event {
			return append(all[:2], event{Event: "reopened", From: offline, To: initial}, all[1], event{Event: "failed", From: offline, To: failed},
				event{Event: "reopened", From: failed, To: initial}, all[1], event{Event: "step", Step: "online", From: offline, To: offline})
		}), broken: "G5"},
	})
}

func TestAViolationIsCutDownToWhatShowsIt(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*world){
		"G2": func(w *world) { w.without = "fence"; a, _ := taken(w); w.step("host-a", a, "online", online, `{}`) },
		"G1": func(w *world) { w.claim("host-a", "web", "t1"); w.claim("host-b", "web", "t2") },
		"G9": func(w *world) { told(w); w.send("host-b", "ops", "web/t1", http.StatusOK) },
	} {
		w := newWorld("")
		for n := range 10 {
			w.release("host-c", w.claim("host-c", fmt.Sprint("other-", n), "t1"))
			w.fault("redis freezes", "redis-1", false, false, func() {})
		}
		w.pass(time.Minute)
		play(w)
		w.see("host-c", "other-1/t1")
		violations := Check(w.records).Violations
		i := slices.IndexFunc(violations, func(v Violation) bool { return v.Guarantee == name })
		if i < 0 {
			t.Fatalf("%s is not broken: %+v", name, violations)
		}
		short := Shrink(w.records, violations[i])
		if len(short) > 12 || !slices.ContainsFunc(Check(short).Violations, func(v Violation) bool { return v.Guarantee == name }) {
			t.Errorf("%s: %d records are left of %d: %+v", name, len(short), len(w.records), Check(short).Violations)
		}
	}
}
