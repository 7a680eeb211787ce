// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// fakeDaemon grants one claim and says of it what a test wants it to say, for what a real daemon cannot be made to do at a
// given moment.
type fakeDaemon struct {
	socket string

	mu       sync.Mutex    // guards what follows
	changed  chan struct{} // closes when something below has changed
	claim    client.Claim
	trusted  time.Duration // right after a renewal
	silent   bool          // watch calls are not answered
	late     time.Duration // how long a watch call's answer is held up on its way
	arrived  time.Duration // when the last watch call arrived, on CLOCK_BOOTTIME
	watched  int           // watch calls that were answered
	released int
}

const (
	fakeTTL     = 12 * time.Second        // the margin is 2.4 s
	fakeRenewal = 3200 * time.Millisecond // from one renewal of the lock to the next
)

func startFake(t *testing.T) *fakeDaemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-fake-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeDaemon{
		socket: filepath.Join(dir, "s"), changed: make(chan struct{}), trusted: fakeTTL * 4 / 5,
		claim: client.Claim{ID: "c1", Token: 7, Asset: "web-01", Task: "w1", Ticket: "web-01/w1", Status: client.StatusHeld, MarginMS: fakeTTL.Milliseconds() / 5},
	}
	listener, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/claims", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		write(w, client.ClaimResponse{Claim: &f.claim, Ticket: client.Ticket{ID: "web-01/w1", State: client.StateInit}})
	})
	mux.HandleFunc("GET /v1/claims/c1", f.watch)
	mux.HandleFunc("DELETE /v1/claims/c1", func(w http.ResponseWriter, _ *http.Request) {
		f.change(func() { f.released++ })
		w.WriteHeader(http.StatusNoContent)
	})
	server := &http.Server{Handler: mux}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		_ = os.RemoveAll(dir)
	})
	return f
}

func write(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (f *fakeDaemon) watch(w http.ResponseWriter, r *http.Request) {
	f.change(func() { f.arrived = process.Boottime() })
	timeout := time.After(fakeTTL / 3)
	if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil && wait < fakeTTL/3 {
		timeout = time.After(wait)
	}
	for waited := false; ; {
		f.mu.Lock()
		changed, silent := f.changed, f.silent
		if !silent && (waited || f.claim.Status != client.StatusHeld) {
			claim := f.claim
			claim.TrustedMS = (f.trusted - process.Boottime()%fakeRenewal).Milliseconds()
			f.watched++
			late := f.late
			f.mu.Unlock()
			time.Sleep(late)
			write(w, client.ClaimBody{Claim: claim})
			return
		}
		f.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			waited = true
		case <-r.Context().Done():
			return
		}
	}
}

// change changes what the fake says.
func (f *fakeDaemon) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

// lose ends the claim with a reason.
func (f *fakeDaemon) lose(reason string) {
	f.change(func() { f.claim.Status, f.claim.Reason = client.StatusLost, &reason })
}

func (f *fakeDaemon) read(get func() int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return get()
}
