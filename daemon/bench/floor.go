// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// floor serves redisWork with bare handlers, which answer as much as the daemon does: no peers, no limits, no checks, no metrics,
// no watchdog.
type floor struct {
	work   *redisWork
	claims sync.Map // id to *held
}

// serveFloor serves on a Unix socket until ctx is done.
func serveFloor(ctx context.Context, redisAddr, socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := http.Server{Handler: (&floor{work: newRedisWork(redisAddr)}).handler()}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

func (f *floor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/claims", f.claim)
	mux.HandleFunc("POST /v1/claims/{id}/steps", f.step)
	mux.HandleFunc("POST /v1/claims/{id}/finish", f.finish)
	mux.HandleFunc("GET /v1/tickets/{asset}/{task}", f.ticket)
	return mux
}

func (f *floor) claim(w http.ResponseWriter, r *http.Request) {
	var b client.ClaimRequest
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h, fields, err := f.work.claim(r.Context(), b.Asset, b.Task)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	id := rand.Text()
	f.claims.Store(id, h)
	t := ticketOf(h.asset, h.task, fields)
	t.Holder = holder
	answer(w, http.StatusCreated, struct {
		Claim  client.Claim  `json:"claim"`
		Ticket ticket        `json:"ticket"`
		Next   []client.Next `json:"next"`
	}{client.Claim{
		ID: id, Token: h.token, Asset: h.asset, Task: h.task, Ticket: t.ID, Status: client.StatusHeld,
		TrustedMS: lockTTL.Milliseconds(), Since: holder.Since, PID: &holder.PID, MaxHoldMS: time.Hour.Milliseconds(),
	}, t, next[t.State]})
}

// holder and next make the floor's answers as long as the daemon's.
var (
	holder = &client.Holder{Host: "floor", PID: 1, Task: task, Since: time.Now().Round(time.Millisecond).UTC(), RemainingMS: 15000}

	next = map[string][]client.Next{
		client.StateInit:        {{Step: client.StepOnline, States: []string{client.StateAssetOnline, client.StateAssetOffline}}},
		client.StateAssetOnline: {{Step: client.StepVuln, States: []string{client.StateVulnCheckDone}}},
		client.StateVulnCheckDone: {
			{Step: client.StepIntel, States: []string{client.StateVulnCheckDone}},
			{Step: client.StepAssess, States: []string{client.StateHighRiskFound, client.StateFinished}},
			{Step: client.CallFinish, States: []string{client.StateFinished}},
		},
		client.StateFinished: {},
	}
)

func (f *floor) step(w http.ResponseWriter, r *http.Request) {
	v, ok := f.claims.Load(r.PathValue("id"))
	var b client.StepRequest
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil || !ok {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	h := v.(*held)
	fields, err := f.work.record(r.Context(), h, b)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	t := ticketOf(h.asset, h.task, fields)
	t.Holder = holder
	answer(w, http.StatusOK, struct {
		Ticket   ticket        `json:"ticket"`
		Next     []client.Next `json:"next"`
		Replayed bool          `json:"replayed"`
	}{t, next[t.State], false})
}

func (f *floor) finish(w http.ResponseWriter, r *http.Request) {
	v, ok := f.claims.LoadAndDelete(r.PathValue("id"))
	if !ok {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	h := v.(*held)
	fields, err := f.work.end(r.Context(), h)
	answerTicket(w, h.asset, h.task, fields, err)
}

func (f *floor) ticket(w http.ResponseWriter, r *http.Request) {
	asset, task := r.PathValue("asset"), r.PathValue("task")
	fields, err := f.work.ticket(r.Context(), asset, task)
	answerTicket(w, asset, task, fields, err)
}

// ticket is client.Ticket with the steps as they stand in Redis.
type ticket struct {
	client.Ticket
	Steps map[string]json.RawMessage `json:"steps"`
}

func ticketOf(asset, task string, fields map[string]string) ticket {
	t := ticket{
		Ticket: client.Ticket{
			ID: asset + "/" + task, Asset: asset, Task: task, Flow: fields["flow"], State: fields["state"],
			Token: number(fields["token"]), Run: number(fields["run"]), Revision: number(fields["revision"]),
			Delivery: map[string]client.Delivery{}, Summary: fields["summary"],
			CreatedAt: millis(fields["created_at"]), UpdatedAt: millis(fields["updated_at"]),
		},
		Steps: map[string]json.RawMessage{},
	}
	if risk, ok := fields["high_risk"]; ok {
		high := risk == "1"
		t.HighRisk = &high
	}
	for name, value := range fields {
		if step, ok := strings.CutPrefix(name, "steps."); ok {
			t.Steps[step] = json.RawMessage(value)
		}
	}
	return t
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func millis(s string) time.Time { return time.UnixMilli(number(s)).UTC() }

func answerTicket(w http.ResponseWriter, asset, task string, fields map[string]string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, struct {
		Ticket ticket `json:"ticket"`
	}{ticketOf(asset, task, fields)})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
