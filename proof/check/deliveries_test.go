// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// told is a ticket on which people are to be told.
func told(w *world) string {
	b := w.claim("host-b", "web", "t1")
	w.step("host-b", b, "online", online, `{}`)
	w.step("host-b", b, "vuln", examined, `{}`)
	w.step("host-b", b, "assess", risky, `{}`)
	w.notify("host-b", b, "danger")
	return b
}

// sent adds a request on a channel, which changes nothing.
func (w *world) sent(host, channel string, long time.Duration, status int) *history.Sending {
	w.audit(host, dict{"EVENT": "attempt", "TICKET": "web/t1", "CHANNEL": channel})
	s := &history.Sending{Channel: channel, Host: host, Key: `"web/t1"`, Digest: "danger", Title: "danger", Asset: "web", Task: "t1", Run: 1, Begin: w.at, Status: status}
	w.pass(long)
	w.add("receiver", history.Record{Sending: s})
	w.audit(host, dict{"EVENT": "undelivered", "TICKET": "web/t1", "CHANNEL": channel})
	return s
}

func both(w *world) {
	w.send("host-b", "ops", "web/t1", http.StatusOK)
	w.send("host-b", "once", "web/t1", http.StatusOK)
}

// onOps has it arrive on one channel of two.
func onOps(w *world) {
	told(w)
	w.send("host-b", "ops", "web/t1", http.StatusOK)
}

func TestWhatIsAcceptedArrives(t *testing.T) {
	t.Parallel()
	judge(t, map[string]spoilt{
		"on both":    {play: func(w *world) { told(w); both(w) }},
		"not on one": {play: onOps, broken: "G9", says: "never arrived on once"},
		"only refused": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 500)
			w.send("host-b", "once", "web/t1", http.StatusOK)
		}, broken: "G9", says: "never arrived on ops"},
		"taken, at_most_once": {play: func(w *world) {
			onOps(w)
			w.sent("host-b", "once", 0, 0)
		}},
		"not taken, at_most_once": {play: func(w *world) {
			onOps(w)
			w.sent("host-b", "once", 0, 0).Digest = ""
		}, broken: "G9", says: "never arrived on once"},
		"discarded": {
			play: func(w *world) {
				onOps(w)
				w.decide("discard", "", "once", "discarded", 0)
			},
			excused: "G9: an administrator decided",
		},
		"another channel is discarded": {play: func(w *world) {
			onOps(w)
			w.decide("discard", "ops", "ops", "discarded", 0)
		}, broken: "G9", says: "never arrived on once"},
		"in another run": {play: func(w *world) {
			onOps(w)
			w.tickets["web/t1"].Run = 2
			w.decide("discard", "", "once", "discarded", 0)
		}, broken: "G9", says: "never arrived on once"},
		"discarded, and it was not": {play: func(w *world) {
			onOps(w)
			w.decide("discard", "", "once", "pending", 0)
		}, broken: "G9", says: "never arrived on once"},
		"settled": {play: func(w *world) {
			onOps(w)
			w.decide("settle", "", "once", "sent", 1)
		}, excused: "G9: an administrator decided"},
		"settled before an attempt": {play: func(w *world) {
			onOps(w)
			w.decide("settle", "", "once", "sent", 0)
		}, broken: "G9", says: "never arrived on once"},
		"refused for good, and reopened": {play: func(w *world) {
			onOps(w)
			w.sent("host-b", "once", 0, http.StatusGone)
			reopened(w, failed)
		}, excused: "G9: its receiver refused it for good"},
		"refused for good, and left so": {play: func(w *world) {
			onOps(w)
			w.sent("host-b", "once", 0, http.StatusFound)
		}, broken: "G9", says: "never arrived on once"},
		"reopened when Redis had lost it": {play: func(w *world) {
			onOps(w)
			w.fault("flush", "", true, false, func() {})
			reopened(w, finished)
		}, excused: "G9: an administrator reopened what Redis had lost"},
		"its host is gone, and Redis lost it": {play: func(w *world) {
			onOps(w)
			w.fault("daemon is gone for good", "host-b", false, false, func() {})
			w.fault("flush", "", true, false, func() {})
		}, excused: "G9: Redis' data and the accepting host were lost for ever"},
		"its host is gone": {play: func(w *world) {
			onOps(w)
			w.fault("daemon is gone for good", "host-b", false, false, func() {})
		}, broken: "G9", says: "never arrived on once"},
		"reopened when Redis had it": {play: func(w *world) {
			onOps(w)
			reopened(w, finished)
		}, broken: "G9", says: "never arrived on once"},
		"parked": {play: func(w *world) {
			onOps(w)
			w.outbox(`{"intents":[{"ticket":"web/t1","run":1,"channels":{"once":{"status":"parked"}}}]}`)
		}, excused: "G9: at_most_once, kept for a person"},
		"other bytes": {play: func(w *world) { told(w); w.sent("host-b", "ops", 0, 500).Digest = "other"; both(w) }, broken: "G9", says: "other bytes"},
		"the same text": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 500).Told = &history.Told{Text: "so it is", Severity: "high", Facts: json.RawMessage(`{}`)}
			both(w)
		}},
		"another text": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 500).Told = &history.Told{Severity: "high"}
			both(w)
		}, broken: "G9", says: "or another text"},
		"another severity": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 500).Told = &history.Told{Text: "so it is", Severity: "low"}
			both(w)
		}, broken: "G9", says: "or another text"},
		"other facts": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 500).Told = &history.Told{Text: "so it is", Severity: "high", Facts: json.RawMessage(`{"of":"db"}`)}
			both(w)
		}, broken: "G9", says: "or another text"},
		"other words": {play: func(w *world) { told(w); w.tickets["web/t1"].Notification.Title = "else"; both(w) }, broken: "G9", says: "accepted is"},
		"anew after a loss": {
			play: func(w *world) {
				told(w)
				w.fault("flush", "", true, false, func() {})
				w.sent("host-b", "ops", 0, 500).Digest = "other"
				both(w)
			},
			excused: "G9: Redis lost what was accepted, and it was accepted anew",
		},
		"another's key": {play: func(w *world) { told(w); both(w); w.sent("host-b", "ops", 0, 500).Key = `"db/t1"` }, broken: "G9", says: "with the key of db/t1"},
		"no key":        {play: func(w *world) { told(w); both(w); w.sent("host-b", "ops", 0, 500).Key = "" }, broken: "G9", says: "came with the key"},
		"never settled": {play: func(w *world) { told(w); w.final(); both(w) }, broken: "G9", says: "never settled"},
	})
}

// reopened is a ticket that an administrator reopens in a state.
func reopened(w *world, state string) {
	w.tickets["web/t1"] = &ticket{ID: "web/t1", State: state, Run: 1, Token: w.token, Steps: map[string]step{}}
	w.ask("host-c", "POST", "/v1/tickets/web/t1/reopen", dict{"reason": "so it is"}, func() (int, any) {
		w.token, w.holder["web"] = w.token+5, 0
		w.tickets["web/t1"] = &ticket{ID: "web/t1", State: initial, Run: 2, Token: w.token, Steps: map[string]step{}}
		w.audit("host-c", dict{"EVENT": "reopened", "CALL": "reopen", "TICKET": "web/t1"})
		return http.StatusOK, dict{"ticket": w.shown("web/t1")}
	})
}

// decide is an administrator on host-c who decides about one channel, or about all when about is empty. What one of them is then the answer
// says.
func (w *world) decide(what, about, channel, status string, attempts int64) {
	w.ask("host-c", "POST", "/v1/outbox/web/t1/"+what, dict{"reason": "so it is", "channel": about}, func() (int, any) {
		w.tickets["web/t1"].Delivery[channel] = delivery{Status: status, Attempts: attempts}
		w.audit("host-c", dict{"EVENT": kinds[what][0], "CALL": what, "TICKET": "web/t1", "CHANNEL": about})
		return http.StatusOK, dict{"ticket": w.shown("web/t1")}
	})
}

// final reads the ticket as is done after the faults.
func (w *world) final() { w.finally("web/t1") }

func (w *world) finally(id string) {
	w.see("host-a", id)
	for i := len(w.records) - 2; i < len(w.records); i++ {
		w.records[i].By = "final"
	}
}

func (w *world) outbox(body string) {
	w.ask("host-b", "GET", "/v1/outbox", nil, func() (int, any) { return http.StatusOK, json.RawMessage(body) })
	for i := len(w.records) - 2; i < len(w.records); i++ {
		w.records[i].By = "final"
	}
}

func TestNothingSupersededIsSent(t *testing.T) {
	t.Parallel()
	const lease = 12 * time.Second
	again := func(name, target string, loses bool, long time.Duration, host, channel string) func(*world) {
		return func(w *world) {
			told(w)
			both(w)
			if name != "" {
				w.fault(name, target, loses, false, func() { w.pass(long) })
			}
			w.sent(host, channel, time.Millisecond, 200)
		}
	}
	hung := func(frozen, before time.Duration) func(*world) {
		return func(w *world) {
			told(w)
			w.fault("daemon freezes", "host-b", false, false, func() {
				w.sent("host-b", "ops", 2*time.Second, 0)
				w.pass(min(frozen, before))
				if before < frozen {
					w.send("host-c", "ops", "web/t1", http.StatusOK)
				}
				w.pass(max(frozen-before, 0))
			})
			if before >= frozen {
				w.pass(before - frozen)
				w.send("host-c", "ops", "web/t1", http.StatusOK)
			}
			w.send("host-b", "once", "web/t1", http.StatusOK)
		}
	}
	judge(t, map[string]spoilt{
		"again after a refusal":  {play: func(w *world) { told(w); w.sent("host-b", "ops", 0, 500); w.sent("host-c", "once", 0, 503); both(w) }},
		"again after it arrived": {play: again("", "", false, 0, "host-b", "ops"), broken: "G10", says: "when it had arrived"},
		"its sender was killed":  {play: again("daemon is killed", "host-b", false, 0, "host-b", "ops"), excused: "G10: its sender ended between send and record"},
		"another was killed":     {play: again("daemon is killed", "host-a", false, 0, "host-b", "ops"), broken: "G10"},
		"it froze for longer than the lease": {
			play:    again("daemon freezes", "host-b", false, lease, "host-c", "ops"),
			excused: "G10: its sender was held up for longer than its lease",
		},
		"it froze for less":               {play: again("daemon freezes", "host-b", false, 3*time.Second, "host-c", "ops"), broken: "G10"},
		"Redis was away":                  {play: again("redis is killed", "redis-1", false, 6*time.Second, "host-c", "ops"), excused: "G10: Redis was away, and nobody could be asked"},
		"a host lost its receipt":         {play: again("all is flushed", "", true, 0, "host-b", "ops"), broken: "G10", says: "when it had arrived"},
		"Redis was away from its sender":  {play: again("redis is killed", "redis-1", false, 6*time.Second, "host-b", "ops"), broken: "G10"},
		"its receiver was cut off":        {play: again("replies of receivers are cut", "host-b", false, 0, "host-b", "ops"), excused: "G10: its sender could not see the answer in time"},
		"it was cut off from Redis":       {play: again("host is cut off", "host-b", false, lease, "host-b", "ops"), broken: "G10"},
		"another's was":                   {play: again("replies of receivers are cut", "host-b", false, 0, "host-c", "ops"), broken: "G10"},
		"Redis lost it":                   {play: again("all is flushed", "", true, 0, "host-c", "ops"), excused: "G10: Redis lost data with two holders of the intent"},
		"at_most_once, all the same":      {play: again("daemon is killed", "host-b", false, 0, "host-b", "once"), broken: "G10", says: "at_most_once"},
		"at_most_once, in doubt":          {play: func(w *world) { told(w); w.sent("host-b", "once", 0, 500); both(w) }, broken: "G10", says: "at_most_once"},
		"at_most_once, unknown":           {play: func(w *world) { told(w); w.sent("host-b", "once", 0, 0); both(w) }, broken: "G10", says: "at_most_once"},
		"at_most_once, lost, on one host": {play: again("all is flushed", "", true, 0, "host-b", "once"), broken: "G10", says: "at_most_once"},
		"at_most_once, lost at once": {
			play:    again("all is flushed", "", true, 0, "host-c", "once"),
			excused: "G10: Redis lost a second intent together with its attempt",
		},
		"at_most_once, lost later": {play: func(w *world) {
			told(w)
			both(w)
			w.pass(10 * time.Second)
			w.fault("all is flushed", "", true, false, func() {})
			w.sent("host-c", "once", 0, 200)
		}, broken: "G10", says: "at_most_once"},
		"at_most_once, accepted anew": {play: func(w *world) {
			told(w)
			both(w)
			w.pass(10 * time.Second)
			w.fault("all is flushed", "", true, false, func() { delete(w.tickets, "web/t1") })
			a := w.claim("host-c", "web", "t1")
			w.step("host-c", a, "online", online, `{}`)
			w.step("host-c", a, "vuln", examined, `{}`)
			w.step("host-c", a, "assess", risky, `{}`)
			w.notify("host-c", a, "danger")
			w.sent("host-c", "once", 0, 200)
		}, excused: "G10: Redis lost it, and another host accepted it anew"},
		"at_most_once, accepted anew by picket run": {play: func(w *world) {
			told(w)
			both(w)
			w.pass(10 * time.Second)
			w.fault("all is flushed", "", true, false, func() {})
			w.audit("host-c", dict{"EVENT": "notifying", "TICKET": "web/t1"})
			w.sent("host-c", "once", 0, 200)
		}, excused: "G10: Redis lost it, and another host accepted it anew"},
		"it froze as it sent, and another waited":  {play: hung(12*time.Second, 11*time.Second)},
		"it froze as it sent, and another did not": {play: hung(12*time.Second, 5*time.Second), broken: "G10", says: "within the lease"},
		"it froze when it knew": {play: func(w *world) {
			told(w)
			w.fault("daemon freezes", "host-b", false, false, func() {
				w.sent("host-b", "ops", 0, 0)
				w.send("host-c", "ops", "web/t1", http.StatusOK)
			})
			w.send("host-b", "once", "web/t1", http.StatusOK)
		}},
		"it was back": {play: hung(time.Second, 5*time.Second)},
		"it froze long after": {play: func(w *world) {
			told(w)
			both(w)
			w.pass(10 * time.Second)
			w.fault("daemon freezes", "host-b", false, false, func() { w.pass(lease) })
			w.sent("host-c", "ops", time.Millisecond, 200)
		}, broken: "G10"},
		"a person's word": {play: func(w *world) {
			told(w)
			w.sent("host-b", "once", 0, 0)
			w.decide("retry", "once", "once", "pending", 1)
			both(w)
		}, excused: "G10: a person had it sent again"},
		"a person's word on another channel": {play: func(w *world) {
			told(w)
			w.sent("host-b", "once", 0, 0)
			w.decide("retry", "ops", "ops", "pending", 1)
			both(w)
		}, broken: "G10", says: "at_most_once"},
		"a person's word on what was sent": {play: func(w *world) {
			told(w)
			w.send("host-b", "once", "web/t1", http.StatusOK)
			w.decide("retry", "", "ops", "pending", 1)
			both(w)
		}, broken: "G10", says: "at_most_once"},
		"two at once": {play: func(w *world) {
			told(w)
			s := w.sent("host-c", "ops", 0, 500)
			s.Begin -= int64(200 * time.Millisecond)
			w.sent("host-b", "ops", 0, 500).Begin -= int64(100 * time.Millisecond)
			both(w)
		}, broken: "G10", says: "at once"},
		"after it was discarded": {play: func(w *world) {
			told(w)
			w.decide("discard", "ops", "ops", "discarded", 0)
			w.pass(4 * time.Second)
			both(w)
		}, broken: "G10", says: "after this"},
	})
}

func TestWhatAHostLeavesIsSentInTime(t *testing.T) {
	t.Parallel()
	after := func(gone string, long time.Duration) func(*world) {
		return func(w *world) {
			told(w)
			w.fault("daemon is gone for good", gone, false, false, func() {})
			w.fault("redis freezes", "redis-1", false, false, func() { w.pass(10 * time.Second) })
			w.pass(long)
			w.send("host-c", "ops", "web/t1", http.StatusOK)
			w.send("host-c", "once", "web/t1", http.StatusOK)
		}
	}
	judge(t, map[string]spoilt{
		"in time":        {play: after("host-b", 50*time.Second)},
		"too late":       {play: after("host-b", 65*time.Second), broken: "G9", says: "gone for good"},
		"another's host": {play: after("host-a", 65*time.Second)},
	})
}

func TestNobodyTakesOverFromOneThatLives(t *testing.T) {
	t.Parallel()
	inherits := func(name, target string, before, after time.Duration) func(*world) {
		return func(w *world) {
			told(w)
			both(w)
			w.fault(name, target, false, false, func() { w.pass(before) })
			w.pass(after)
			at := time.Unix(0, w.at).Format(time.RFC3339Nano)
			w.audit("host-c", dict{"EVENT": "inherited", "TICKET": "web/t1", "REASON": "from daemon D2", "TIME": at})
			w.ask("host-a", "GET", "/v1/hosts", nil, func() (int, any) {
				return http.StatusOK, json.RawMessage(`{"hosts":[{"id":"D1","host":"host-a"},{"id":"D2","host":"host-b"}]}`)
			})
		}
	}
	judge(t, map[string]spoilt{
		"it stays away":       {play: inherits("daemon stays away", "host-b", 40*time.Second, 0)},
		"it was cut off":      {play: inherits("host is cut off", "host-b", 14*time.Second, 10*time.Second)},
		"Redis was away":      {play: inherits("redis freezes", "redis-1", 14*time.Second, 10*time.Second)},
		"it was back":         {play: inherits("daemon is killed", "host-b", 40*time.Second, 14*time.Second), broken: "G10", says: "which lives"},
		"it is gone for good": {play: inherits("daemon is gone for good", "host-b", 0, 40*time.Second)},
		"it was never away":   {play: inherits("daemon stays away", "host-a", 40*time.Second, 0), broken: "G10", says: "which lives"},
	})
}
