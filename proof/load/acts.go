// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// acts is what a worker does with a claim, and how often of a hundred times. Each reports whether the worker goes on with the claim.
var acts = []struct {
	share int
	do    func(*worker, *held) bool
}{
	{49, (*worker).advance},
	{12, (*worker).fail},
	{8, (*worker).heartbeat},
	{5, (*worker).watch},
	{6, (*worker).repeat},
	{3, (*worker).contradict},
	{4, (*worker).stray},
	{3, func(w *worker, h *held) bool { w.look(h.name); return true }},
	{2, (*worker).release},
	{2, (*worker).forget},
	{4, (*worker).oversleep},
	{2, (*worker).resolve},
}

func (w *worker) act(h *held) bool {
	n := w.rand.IntN(100)
	for _, a := range acts {
		if n -= a.share; n < 0 {
			return a.do(w, h)
		}
	}
	return true
}

// write makes a POST on the claim and notes what its answer says.
func (w *worker) write(h *held, call string, b []byte) bool {
	h.last = sent{call, b}
	path := "/v1/claims/" + h.ID + "/" + call
	if call == "notification" && w.chance(40) {
		path += "?wait=1s"
	}
	r := w.insist(http.MethodPost, path, b, time.Second)
	if r.Ticket != nil {
		h.state = r.Ticket.State
	}
	if r.Next != nil {
		h.next = r.Next
	}
	switch r.Code {
	case "CLAIM_LOST", "STALE_TOKEN", "CLAIM_NOT_FOUND":
		return w.forget(h)
	}
	return call != "finish" || r.status != http.StatusOK
}

// advance does one of the things that come next.
func (w *worker) advance(h *held) bool {
	switch {
	case h.state == "NOTIFYING" && w.chance(50):
		return w.notify(h)
	case h.state == "NOTIFYING" && w.chance(50), len(h.next) == 0:
		return w.release(h)
	}
	n := h.next[w.rand.IntN(len(h.next))]
	switch n.Step {
	case "notify":
		return w.notify(h)
	case "finish":
		if h.toBeTold() && len(h.next) > 1 {
			return true
		}
		return w.write(h, "finish", body(map[string]any{"summary": "done by " + w.by}))
	}
	state := n.States[w.rand.IntN(len(n.States))]
	if i := slices.Index(n.States, "HIGH_RISK_FOUND"); h.toBeTold() && i >= 0 {
		state = n.States[i]
	}
	if h.toBeTold() && n.Step == "online" {
		state = "ASSET_ONLINE"
	}
	return w.write(h, "steps", w.step(h, n.Step, state))
}

func (h *held) toBeTold() bool { return strings.HasPrefix(h.name.asset, "told-") }

// step is a step's result. Half of them are what any worker would say, so that another's repetition is the same.
func (w *worker) step(h *held, step, state string) []byte {
	facts := map[string]any{"of": h.name.asset, "step": step}
	if w.chance(50) {
		facts["seen"] = w.rand.IntN(1000)
	}
	b := map[string]any{"step": step, "state": state, "facts": facts}
	if state == "FINISHED" && w.chance(50) {
		b["finish"] = true
	}
	return body(b)
}

// notify has people told: mostly in the words that any worker would take.
func (w *worker) notify(h *held) bool {
	words := fmt.Sprintf("%s in run %d", h.name.asset, h.run)
	if w.chance(35) {
		words += fmt.Sprint(", as ", w.by, " says, ", w.rand.IntN(1000))
	}
	facts := map[string]any{"of": h.name.asset}
	if w.chance(3) { // the outbox's file has to grow for it, which a full disk refuses
		facts["much"] = strings.Repeat("x", 100<<10)
	}
	b := map[string]any{"title": words, "text": "At high risk: " + words, "severity": "high", "facts": facts}
	return w.write(h, "notification", body(b))
}

// fail reports that a step failed, up to three times in a row.
func (w *worker) fail(h *held) bool {
	step := []string{"online", "vuln", "assess"}[w.rand.IntN(3)]
	if len(h.next) > 0 && w.chance(80) {
		step = h.next[0].Step
	}
	b := map[string]any{"step": step, "error": "the scanner broke"}
	if w.chance(8) || h.state == "NOTIFYING" && w.chance(40) { // which nothing but the receivers may end
		b["final"] = true
	}
	for range w.rand.IntN(3) {
		if !w.write(h, "failures", body(b)) {
			return false
		}
	}
	return w.write(h, "failures", body(b))
}

func (w *worker) heartbeat(h *held) bool { return w.write(h, "heartbeat", nil) }

func (w *worker) watch(h *held) bool {
	r := w.call(context.Background(), http.MethodGet, "/v1/claims/"+h.ID+"?wait=1s", nil, time.Second)
	if r.Claim != nil && r.Claim.Status != "held" {
		return w.forget(h)
	}
	return true
}

// repeat sends the last write again, as one does who did not see the answer.
func (w *worker) repeat(h *held) bool {
	if h.last.call == "" {
		return true
	}
	return w.write(h, h.last.call, h.last.body)
}

// contradict records a step with another result than before, if it was recorded.
func (w *worker) contradict(h *held) bool {
	return w.write(h, "steps", body(map[string]any{"step": "online", "state": "ASSET_ONLINE", "facts": map[string]any{"other": w.rand.IntN(1000)}}))
}

// stray sends what the flow does not permit, or what is no right request.
func (w *worker) stray(h *held) bool {
	bad := []sent{
		{"steps", body(map[string]any{"step": "assess", "state": "HIGH_RISK_FOUND"})},
		{"steps", body(map[string]any{"step": "online", "state": "VULN_CHECK_DONE"})},
		{"steps", body(map[string]any{"step": "nonsense", "state": "ASSET_ONLINE"})},
		{"steps", body(map[string]any{"step": "vuln", "state": "VULN_CHECK_DONE", "fact": 1})},
		{"failures", body(map[string]any{"step": "online"})},
		{"notification", body(map[string]any{"title": "x", "text": "y", "severity": "dreadful"})},
		{"notification", body(map[string]any{"title": "x", "text": "y", "severity": "high", "channels": []string{"nowhere"}})},
		{"notification", body(map[string]any{"title": "x", "severity": "high"})},
		{"notification", body(map[string]any{"title": strings.Repeat("x", 257), "text": "y", "severity": "high"})},
		{"steps", []byte(`{"step": "online", "step": "online", "state": "ASSET_ONLINE"}`)},
		{"steps", body(map[string]any{"step": "online", "state": "ASSET_ONLINE", "facts": []string{"seen"}})},
		{"finish", body(map[string]any{"summary": "done", "force": true})},
	}
	if n := w.rand.IntN(len(bad) + 2); n < len(bad) {
		return w.write(h, bad[n].call, bad[n].body)
	}
	asset := url.PathEscape(h.name.asset)
	others := []sent{
		{"/v1/claims", body(map[string]any{"asset": h.name.asset, "heartbeat": "10s"})},
		{"/v1/claims", body(map[string]any{"asset": h.name.asset, "task": h.name.task, "ttl": "10s"})},
		{"/v1/locks/" + asset + "/break", body(map[string]any{"why": "an operator decides"})},
		{"/v1/tickets/" + h.name.path() + "/reopen", []byte(`{}`)},
		{"/v1/outbox/" + h.name.path() + "/discard", body(map[string]any{"reason": "an operator decides", "channel": "nowhere"})},
	}
	other := others[w.rand.IntN(len(others))]
	w.insist(http.MethodPost, other.call, other.body, 0)
	return true
}

func (w *worker) release(h *held) bool {
	r := w.insist(http.MethodDelete, "/v1/claims/"+h.ID, nil, 0)
	switch n := w.rand.IntN(100); {
	case r.status != http.StatusNoContent:
	case n < 20:
		w.insist(http.MethodDelete, "/v1/claims/"+h.ID, nil, 0)
	case n < 60: // by an operator, too, whose list is old: others have the asset and wait for it by then
		w.pause(w.ttl/30, w.ttl/3)
		w.force(h.ID)
	}
	if w.chance(30) {
		w.forget(h)
	}
	return false
}

// forget lets go of a claim without a word. It may come back under haunt.
func (w *worker) forget(h *held) bool {
	w.old = append(w.old, *h)
	if len(w.old) > 4 {
		w.old = w.old[1:]
	}
	return false
}

// oversleep is silent for longer than the claim can live by itself, and then goes on as if nothing had been.
func (w *worker) oversleep(*held) bool {
	w.pause(w.ttl, w.ttl+2*time.Second)
	return true
}

// haunt writes under a claim that is over, as a process does which was stopped for long.
func (w *worker) haunt() {
	if len(w.old) == 0 {
		return
	}
	h := w.old[w.rand.IntN(len(w.old))]
	for range 1 + w.rand.IntN(3) {
		if !w.act(&h) {
			break
		}
	}
}
