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

// world makes histories: it answers calls as Picket does, in a simple way, but for the rules that are left out of it.
type world struct {
	records []history.Record
	at      int64
	calls   int
	faults  int
	without string // the rule that is left out
	token   int64
	holder  map[string]int64 // by asset
	tickets map[string]*ticket
	claims  map[string]*claim
	texts   map[string]string // by ticket and run: what was accepted first
	seq     map[string]int    // of the audit, by host
}

const ttl = 5000 // ms

func newWorld(without string) *world {
	w := &world{
		at: time.Hour.Nanoseconds(), without: without, token: 1000,
		holder: map[string]int64{}, tickets: map[string]*ticket{}, claims: map[string]*claim{}, texts: map[string]string{}, seq: map[string]int{},
	}
	w.add("main", history.Record{Setup: &history.Setup{
		Topology: "standalone", Profile: "kept", Hosts: []string{"host-a", "host-b", "host-c"}, TTLMS: ttl,
		Channels: []history.Channel{{Name: "ops", TimeoutMS: 1000}, {Name: "once", AtMostOnce: true, TimeoutMS: 1000}},
	}})
	return w
}

// add adds a record, a millisecond after the last one.
func (w *world) add(by string, r history.Record) int {
	w.pass(time.Millisecond)
	r.At, r.By = w.at, by
	w.records = append(w.records, r)
	return len(w.records) - 1
}

func (w *world) pass(long time.Duration) { w.at += long.Nanoseconds() }

// ask adds a call with its answer, 0 for none. answer is made when the call is under way.
func (w *world) ask(host, method, path string, body any, answer func() (int, any)) {
	w.calls++
	id, by := fmt.Sprint("c", w.calls), "agent "+host+"/1.1"
	w.add(by, history.Record{Call: &history.Call{ID: id, Host: host, PID: agentOf(host), Method: method, Path: path, Body: text(body)}})
	status, with := answer()
	w.add(by, history.Record{Answer: &history.Answer{ID: id, Status: status, Body: text(with)}})
}

func text(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

type dict map[string]any

// refuse is the record of a call that was refused before it was known what it is about.
func (w *world) refuse(host, call, code string) {
	w.audit(host, dict{"EVENT": "refused", "CALL": call, "CODE": code, "AGENT_PID": agentOf(host)})
}

// agentOf is the process that makes a host's calls.
func agentOf(host string) int { return len(host)*100 + int(host[5]) }

func problem(status int, code string, more dict) (int, any) {
	body := dict{"code": code, "detail": "so it is", "status": status}
	for k, v := range more {
		body[k] = v
	}
	return status, body
}

// shown is a copy of a ticket, as an answer has it.
func (w *world) shown(id string) *ticket {
	var t ticket
	if err := json.Unmarshal(text(w.tickets[id]), &t); err != nil {
		panic(err)
	}
	return &t
}

func follows(state string) (all []next) {
	for _, a := range arrows {
		if a.from != state {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Step == a.by {
			all[n-1].States = append(all[n-1].States, a.to)
			continue
		}
		all = append(all, next{a.by, []string{a.to}})
	}
	return all
}

// claim grants an asset to a host, whoever has it.
func (w *world) claim(host, asset, task string) string {
	id := ""
	w.ask(host, "POST", "/v1/claims", dict{"asset": asset, "task": task, "heartbeat": "10s"}, func() (int, any) {
		t := w.tickets[asset+"/"+task]
		if t != nil && terminal(t.State) {
			return http.StatusOK, dict{"claim": nil, "ticket": w.shown(t.ID), "next": []next{}}
		}
		if t == nil {
			t = &ticket{ID: asset + "/" + task, State: initial, Run: 1, Steps: map[string]step{}}
			w.tickets[t.ID] = t
		}
		if w.token += 10; w.without == "tokens grow" {
			w.token -= 20
		}
		t.Token, w.holder[asset] = w.token, w.token
		t.Revision++
		id = fmt.Sprint("claim-", w.token)
		beat := int64(10000)
		w.claims[id] = &claim{ID: id, Token: w.token, Asset: asset, Task: task, Status: "held", TrustedMS: ttl * 4 / 5, HeartbeatMS: &beat, MaxHoldMS: 60000}
		w.audit(host, dict{"EVENT": "claimed", "TICKET": t.ID, "TOKEN": w.token, "CALL": "claim"})
		return http.StatusCreated, dict{"claim": w.claims[id], "ticket": w.shown(t.ID), "next": follows(t.State)}
	})
	return id
}

// write makes a call on a claim: what changes the ticket is given, and returns a refusal's code.
func (w *world) write(host, id, path string, body any, change func(t *ticket) (code string, answer dict)) {
	c := w.claims[id]
	key := c.Asset + "/" + c.Task
	call := map[string]string{"steps": "step", "failures": "fail", "notification": "notify", "finish": "finish"}[path]
	w.ask(host, "POST", "/v1/claims/"+id+"/"+path, body, func() (int, any) {
		t := w.tickets[key]
		if w.holder[c.Asset] != c.Token && w.without != "fence" {
			w.audit(host, dict{"EVENT": "refused", "TICKET": key, "TOKEN": c.Token, "CALL": call, "CODE": "STALE_TOKEN"})
			return problem(http.StatusConflict, "STALE_TOKEN", nil)
		}
		from := t.State
		code, answer := change(t)
		if code != "" {
			w.audit(host, dict{"EVENT": "refused", "TICKET": key, "TOKEN": c.Token, "CALL": call, "CODE": code})
			return problem(http.StatusConflict, code, dict{"state": from})
		}
		kind := map[string]string{"step": "step", "fail": "failure", "notify": "notifying", "finish": "finished"}[call]
		if answer["replayed"] == true {
			kind = "replayed"
		}
		w.audit(host, dict{"EVENT": kind, "TICKET": key, "TOKEN": c.Token, "CALL": call, "FROM": from, "TO": t.State})
		t.Revision++
		if answer == nil {
			answer = dict{}
		}
		answer["ticket"] = w.shown(key)
		if path != "finish" && path != "notification" {
			answer["next"] = follows(t.State)
		}
		return http.StatusOK, answer
	})
}

func (w *world) step(host, id, name, state, facts string) {
	w.write(host, id, "steps", dict{"step": name, "state": state, "facts": json.RawMessage(facts)}, func(t *ticket) (string, dict) {
		was, had := t.Steps[name]
		switch {
		case had && was.State == state && same(was.Facts) == same(json.RawMessage(facts)) && w.without != "replay":
			return "", dict{"replayed": true}
		case had && (!leads(t.State, name, state) || t.State == state) && w.without != "recorded once":
			return "STEP_CONFLICT", nil
		case !leads(t.State, name, state) && w.without != "no way back":
			return "ILLEGAL_TRANSITION", nil
		}
		t.State, t.Steps[name] = state, step{state, json.RawMessage(facts), w.claims[id].Token}
		if w.without == "recorded" {
			delete(t.Steps, name)
		}
		if t.Failure != nil && t.Failure.Step == name {
			t.Failure = nil
		}
		return "", dict{"replayed": false}
	})
}

func (w *world) fail(host, id, name string, final bool) {
	w.write(host, id, "failures", dict{"step": name, "error": "no", "final": final}, func(t *ticket) (string, dict) {
		if terminal(t.State) && w.without != "absorbs" || final && t.State == notifying {
			return "ILLEGAL_TRANSITION", nil
		}
		count := int64(1)
		if t.Failure != nil && t.Failure.Step == name {
			count = t.Failure.Count + 1
		}
		if w.without == "counted once" {
			count++
		}
		if t.Failure = (&failure{name, count, final}); final {
			t.State = failed
		}
		return "", nil
	})
}

func (w *world) notify(host, id, title string) {
	n := notification{title, "so it is", "high", json.RawMessage(`{}`), []string{"ops", "once"}}
	w.write(host, id, "notification", n, func(t *ticket) (string, dict) {
		if t.Notification != nil && w.without != "the first words stand" {
			if t.Notification.Title != title && w.texts[t.ID] == id {
				return "CONTENT_CONFLICT", nil
			}
			return "", dict{"replayed": true}
		}
		if !leads(t.State, "notify", notifying) && t.Notification == nil {
			return "ILLEGAL_TRANSITION", nil
		}
		t.State, t.Notification, w.texts[t.ID] = notifying, &n, id
		t.Delivery = map[string]delivery{"ops": {Status: "pending"}, "once": {Status: "pending"}}
		return "", dict{"replayed": false}
	})
}

func (w *world) finish(host, id string) {
	w.write(host, id, "finish", dict{}, func(t *ticket) (string, dict) {
		if t.State != finished && !leads(t.State, "finish", finished) {
			return "ILLEGAL_TRANSITION", nil
		}
		if t.State != notifying {
			t.State = finished
		}
		w.claims[id].Status = "released"
		return "", nil
	})
}

func (w *world) release(host, id string) {
	w.ask(host, "DELETE", "/v1/claims/"+id, nil, func() (int, any) {
		c := w.claims[id]
		c.Status = "released"
		w.audit(host, dict{"EVENT": "released", "TICKET": c.Asset + "/" + c.Task, "TOKEN": c.Token, "CALL": "release"})
		return http.StatusNoContent, nil
	})
}

// lose notes that a claim of host-a is lost, and why.
func (w *world) lose(id string, reason any) {
	c := w.claims[id]
	w.audit("host-a", dict{"EVENT": "lost", "ASSET": c.Asset, "TICKET": c.Asset + "/" + c.Task, "TOKEN": c.Token, "REASON": reason})
}

// watch is a holder on host-a who asks for his claim.
func (w *world) watch(id, status string, reason any) {
	c := w.claims[id]
	w.ask("host-a", "GET", "/v1/claims/"+id+"?wait=1s", nil, func() (int, any) {
		return http.StatusOK, dict{"claim": dict{"id": id, "token": c.Token, "asset": c.Asset, "task": c.Task, "status": status, "reason": reason}}
	})
}

func (w *world) see(host, id string) {
	w.ask(host, "GET", "/v1/tickets/"+id, nil, func() (int, any) {
		if w.tickets[id] == nil {
			return problem(http.StatusNotFound, "TICKET_NOT_FOUND", nil)
		}
		return http.StatusOK, dict{"ticket": w.shown(id)}
	})
}

func (w *world) admin(host, method, path, call, kind string, change func()) {
	w.ask(host, method, path, dict{"reason": "so it is"}, func() (int, any) {
		change()
		parts := strings.Split(path, "/")
		w.audit(host, dict{"EVENT": kind, "CALL": call, "ASSET": parts[3], "TICKET": strings.Join(parts[3:len(parts)-1], "/")})
		return http.StatusOK, dict{}
	})
}

// send is a channel that gets the words of a ticket, and what the ticket says of it then.
func (w *world) send(host, channel, id string, status int) {
	t := w.tickets[id]
	asset, task, _ := strings.Cut(id, "/")
	w.audit(host, dict{"EVENT": "attempt", "TICKET": id, "CHANNEL": channel})
	begin := w.at
	w.pass(20 * time.Millisecond)
	key := fmt.Sprintf("%q", id)
	if t.Run > 1 {
		key = fmt.Sprintf(`"%s~%d"`, id, t.Run)
	}
	w.add("receiver", history.Record{Sending: &history.Sending{
		Channel: channel, Host: host, Key: key, Digest: t.Notification.Title, Title: t.Notification.Title, Asset: asset, Task: task, Run: t.Run,
		Begin: begin, Status: status, Stamp: begin / 1e9,
	}})
	if status == http.StatusOK {
		t.Delivery[channel] = delivery{"sent", t.Delivery[channel].Attempts + 1, host}
		w.audit(host, dict{"EVENT": "receipt", "TICKET": id, "CHANNEL": channel, "CALL": "outcome"})
	} else {
		w.audit(host, dict{"EVENT": "undelivered", "TICKET": id, "CHANNEL": channel})
	}
	if !slices.ContainsFunc([]string{"ops", "once"}, func(name string) bool { return t.Delivery[name].Status != "sent" }) {
		t.State = finished
	}
}

func (w *world) fault(name, target string, loses, steps bool, meanwhile func()) {
	w.strike(history.Fault{Name: name, Target: target, Loses: loses, Steps: steps}, meanwhile)
}

// clock sets the clock of a Redis by so much, and back.
func (w *world) clock(by time.Duration, meanwhile func()) {
	w.strike(history.Fault{Name: "clock is set", Target: "redis-1", Steps: true, Detail: by.String()}, meanwhile)
}

func (w *world) strike(f history.Fault, meanwhile func()) {
	w.faults++
	f.ID = w.faults
	w.add("nemesis", history.Record{Fault: &f})
	meanwhile()
	end := f
	end.End = true
	w.add("nemesis", history.Record{Fault: &end})
}

func (w *world) audit(host string, fields dict) {
	w.seq[host]++
	all := map[string]string{"PICKET_RUN": "run-" + host, "PICKET_SEQ": fmt.Sprint(w.seq[host]), "PICKET_HOST": host}
	all["PICKET_TIME"] = time.Unix(0, w.at).UTC().Format(time.RFC3339Nano)
	for k, v := range fields {
		all["PICKET_"+k] = fmt.Sprint(v)
	}
	if w.without == "audit of "+all["PICKET_EVENT"] {
		return
	}
	w.add("journal", history.Record{Audit: &history.Audit{Host: host, Fields: all}})
}

// spoilt is a history that breaks a guarantee, or one that breaks none.
type spoilt struct {
	without string // the rule that the world lacks
	play    func(w *world)
	broken  string // the guarantee; empty: none
	says    string // what the violation's text has
	excused string // the exception that lets it pass
}

// judge plays histories and holds what is said of them against what should be.
func judge(t *testing.T, table map[string]spoilt) {
	t.Helper()
	for name, one := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(one.without)
			one.play(w)
			r := Check(w.records)
			found := slices.ContainsFunc(r.Violations, func(v Violation) bool {
				return v.Guarantee == one.broken && strings.Contains(v.Text, one.says) && len(v.Records) > 0
			})
			switch {
			case one.broken == "" && len(r.Violations) > 0, one.broken != "" && !found:
				t.Errorf("broken is %q, and it says %+v", one.broken, r.Violations)
			case one.excused != "" && r.Excused[one.excused] == 0:
				t.Errorf("not excused: %v", r.Excused)
			case one.excused == "" && one.broken == "" && len(r.Excused) > 0:
				t.Errorf("excused is %v", r.Excused)
			}
		})
	}
}
