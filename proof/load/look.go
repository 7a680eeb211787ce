// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// look reads a ticket in one of the ways in which it can be read.
func (w *worker) look(n name) {
	method, path, b := http.MethodGet, "/v1/tickets/"+n.path(), []byte(nil)
	switch w.rand.IntN(6) {
	case 0:
		path += "/history"
	case 1:
		method, path, b = http.MethodPost, "/v1/tickets/states", body(map[string]any{"ids": []string{n.asset + "/" + n.task}})
	case 2:
		path = "/v1/tickets?limit=20&asset=" + url.QueryEscape(n.asset)
	}
	w.call(context.Background(), method, path, b, 0)
}

// The calls of operators.

// breakLock fences off whoever holds one of the shared assets, or of those of picket exec, or ends a claim of this host's.
func (w *worker) breakLock() {
	if w.chance(60) {
		asset := w.shared().asset
		if w.chance(30) {
			asset = fmt.Sprint("exec-", w.rand.IntN(execAssets))
		}
		w.decide("/v1/locks/"+url.PathEscape(asset)+"/break", nil)
		return
	}
	if r := w.call(context.Background(), http.MethodGet, "/v1/claims", nil, 0); len(r.Claims) > 0 {
		w.force(r.Claims[w.rand.IntN(len(r.Claims))].ID)
	}
}

// force ends a claim, whoever has it.
func (w *worker) force(claim string) {
	w.insist(http.MethodDelete, "/v1/claims/"+claim+"?force=true", nil, 0)
}

// reopen begins a new run of a ticket, and reports whether there is one to work on: also the first, if Redis has lost the ticket.
func (w *worker) reopen(n name) bool {
	status := w.decide("/v1/tickets/"+n.path()+"/reopen", nil).status
	return status == http.StatusOK || status == http.StatusNotFound
}

// resolve decides about a notification.
func (w *worker) resolve(h *held) bool {
	if h.state == "NOTIFYING" {
		w.resolved(h.name)
	}
	return true
}

// resolved has an operator decide about all channels of a notification that are in question, or about one.
func (w *worker) resolved(n name) {
	var more map[string]any
	if w.chance(50) {
		more = map[string]any{"channel": channels[w.rand.IntN(len(channels))]}
	}
	what := []string{"discard", "retry", "retry", "settle", "settle"}[w.rand.IntN(5)]
	w.decide("/v1/outbox/"+n.path()+"/"+what, more)
}

func (w *worker) decide(path string, more map[string]any) reply {
	b := map[string]any{"reason": "an operator decides"}
	for k, v := range more {
		b[k] = v
	}
	return w.insist(http.MethodPost, path, body(b), 0)
}
