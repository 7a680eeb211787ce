// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// attended lets time pass in which a host's daemon tells what only Redis knows.
func (w *world) attended(host string, long time.Duration) {
	for ; long > 0; long -= 500 * time.Millisecond {
		w.pass(min(long, 500*time.Millisecond))
		w.see(host, "other/t1")
	}
}

func TestClaimsLiveWhenNothingKeepsThemFromIt(t *testing.T) {
	t.Parallel()
	lost := func(reason string, before func(w *world)) func(*world) {
		return func(w *world) {
			before(w)
			w.audit("host-a", dict{"EVENT": "lost", "ASSET": "web", "TOKEN": 5, "REASON": reason})
		}
	}
	serves := func(host string) func(*world) { return func(w *world) { w.attended(host, 10*time.Second) } }
	then := func(name, target string, long, after time.Duration) func(*world) {
		return func(w *world) {
			serves("host-a")(w)
			w.fault(name, target, false, false, func() { w.pass(long) })
			w.attended("host-a", after)
		}
	}
	away := func(w *world) {
		w.ask("host-a", "GET", "/v1/tickets/other/t1", nil, func() (int, any) { return problem(http.StatusServiceUnavailable, "STORE_UNAVAILABLE", nil) })
	}
	judge(t, map[string]spoilt{
		"it runs out":                     {play: lost("expired", serves("host-a")), broken: "G7", says: "ran out"},
		"nobody was served":               {play: lost("expired", serves("host-b"))},
		"its agent was silent":            {play: lost("silent", serves("host-a"))},
		"a node's connections are closed": {play: lost("expired", then("replies are lost", "host-b redis-1", time.Second, time.Second))},
		"its host was cut off":            {play: lost("expired", then("host is cut off", "host-a", 3*time.Second, 0))},
		"it was, long before":             {play: lost("expired", then("host is cut off", "host-a", 3*time.Second, 20*time.Second)), broken: "G7"},
		"another was":                     {play: lost("expired", then("host is cut off", "host-b", 300*time.Millisecond, time.Second)), broken: "G7"},
		"its daemon is started again":     {play: lost("expired", then("daemon is killed", "host-a", time.Second, 0)), broken: "G7"},
		"it is after a while":             {play: lost("expired", then("daemon is killed", "host-a", 4*time.Second, 0))},
		"Redis is told to be away":        {play: func(w *world) { serves("host-a")(w); away(w) }, broken: "G11", says: "was not"},
		"it is":                           {play: func(w *world) { then("redis is killed", "redis-1", time.Second, 0)(w); away(w) }},
	})
}

func TestALossHasItsReason(t *testing.T) {
	t.Parallel()
	// A claim is told as lost for a reason, 5 s after what was there for it.
	told := func(reason string, meanwhile func(w *world, id string)) func(*world) {
		return func(w *world) {
			id := w.claim("host-a", "web", "t1")
			meanwhile(w, id)
			w.pass(5 * time.Second)
			if reason != "released" { // an end of its holder's is no loss, and has a record of its own
				w.lose(id, reason)
			}
			w.watch(id, "lost", reason)
		}
	}
	none := func(*world, string) {}
	breaks := func(w *world, _ string) {
		w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", "broken", func() {})
	}
	another := func(w *world, _ string) { w.pass(ttl * 1e6); w.claim("host-b", "web", "t1") }
	flush := func(w *world, _ string) { w.fault("all is flushed", "", true, false, func() {}) }
	late := func(long time.Duration) func(*world, string) { return func(w *world, _ string) { w.pass(long) } }
	ends := func(w *world, id string) {
		w.ask("host-a", "DELETE", "/v1/claims/"+id, nil, func() (int, any) { return 0, nil })
	}
	watched := func(calls bool) func(w *world) {
		return func(w *world) {
			told("process_exit", func(w *world, _ string) { w.spoil(`"pid":null`, `"pid":77`) })(w)
			if calls {
				w.add("agent", history.Record{Call: &history.Call{ID: "later", Host: "host-a", PID: 77, Method: "GET", Path: "/v1/claims"}})
			}
		}
	}
	judge(t, map[string]spoilt{
		"its trust ran out": {play: told("expired", none)},
		"it had not": {play: func(w *world) {
			w.lose(w.claim("host-a", "web", "t1"), "expired")
		}, broken: "G8", says: "recorded as lost by expired"},
		"the clock ended its lock": {play: func(w *world) {
			id := w.claim("host-a", "web", "t1")
			w.clock(time.Minute, func() {})
			w.lose(id, "expired")
		}},
		"taken by another": {play: told("taken", another)},
		"by a claim of picket exec": {play: told("taken", func(w *world, _ string) {
			w.audit("host-b", dict{"EVENT": "unconfirmed", "CALL": "claim", "ASSET": "web", "TICKET": "web/t2"})
		})},
		"by nobody":                   {play: told("taken", none), broken: "G8", says: "ended by taken, which is not so"},
		"by an administrator":         {play: told("taken", breaks), broken: "G8", says: "ended by taken"},
		"who says so":                 {play: told("forced", breaks)},
		"which nobody did":            {play: told("forced", another), broken: "G8", says: "ended by forced"},
		"it was released":             {play: told("released", ends)},
		"nobody asked for that":       {play: told("released", none), broken: "G8", says: "ended by released"},
		"Redis lost it":               {play: told("store_reset", flush)},
		"it lost nothing":             {play: told("store_reset", another), broken: "G8", says: "ended by store_reset"},
		"its agent was silent":        {play: told("silent", late(6*time.Second))},
		"it was within its heartbeat": {play: told("silent", none), broken: "G8", says: "ended by silent"},
		"its cap was reached":         {play: told("max_hold", late(time.Minute))},
		"it was not":                  {play: told("max_hold", late(50*time.Second)), broken: "G8", says: "ended by max_hold"},
		"its process ended":           {play: watched(false)},
		"which calls later":           {play: watched(true), broken: "G8", says: "ended by process_exit"},
		"it is so recorded for no cause": {play: func(w *world) {
			w.lose(w.claim("host-a", "web", "t1"), "forced")
		}, broken: "G8", says: "recorded as lost by forced"},
	})
}
