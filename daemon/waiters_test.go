// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// waitHost is a host as far as waiting is concerned: an engine that runs, and the number of commands that Redis had from it.
type waitHost struct {
	*engine.Engine
	registry *prometheus.Registry
	commands atomic.Int64
	after    atomic.Pointer[func(script string)] // called when Redis has executed a script, before its reply is seen
}

func newWaitHost(t *testing.T, server *redistest.Server, name string, ttl time.Duration) *waitHost {
	t.Helper()
	client, err := RedisConfig{Mode: Standalone, Addrs: []string{"unix://" + server.SocketPath()}}.client(0)
	if err != nil {
		t.Fatal(err)
	}
	h := &waitHost{registry: prometheus.NewRegistry()}
	client.AddHook(&cue{at: func(when, what string) error {
		after := h.after.Load()
		if when == "before" {
			h.commands.Add(1)
		} else if after != nil {
			(*after)(what)
		}
		return nil
	}})
	store, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.Engine, err = engine.New(engine.Config{
		Redis: client, Outbox: store, Host: name, TTL: ttl, Registry: h.registry, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(h.Stop(ctx), store.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// waiting is how many calls wait for an asset.
func (h *waitHost) waiting(t *testing.T) int {
	t.Helper()
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "picket_claims_waiting" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

// wants is a claim of the asset that waits for it, or not.
func (h *waitHost) wants(ctx context.Context, wait time.Duration) (*engine.Claim, error) {
	got, err := h.Claim(ctx, engine.ClaimRequest{
		Asset: theAsset, Task: theTask, Heartbeat: time.Hour, Wait: wait, Peer: engine.Peer{UID: 1000, PID: 1},
	})
	return got.Claim, err
}

// takeTurns has n callers on three hosts wait for one asset, and returns how many commands Redis had for one turn. Each must have
// its turn once, alone, and those of a host in the order in which they came.
func takeTurns(t *testing.T, server *redistest.Server, n int) (commands float64) {
	t.Helper()
	var hosts []*waitHost
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		hosts = append(hosts, newWaitHost(t, server, name, 15*time.Second))
	}
	holder, err := hosts[0].wants(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var inside atomic.Int32
	turns := make([][]int, len(hosts)) // of each host, written by who has the asset
	for i := range n {
		h, mine, place := hosts[i%3], &turns[i%3], i/3
		work.Go(func() {
			got, err := h.wants(t.Context(), 5*time.Minute)
			if err != nil || got == nil {
				t.Errorf("the turn of waiter %d: %v, %v", i, got, err)
				return
			}
			if inside.Add(1) != 1 {
				t.Errorf("waiter %d is not alone", i)
			}
			*mine = append(*mine, place)
			inside.Add(-1)
			if err := h.Release(t.Context(), got.ID, 1000); err != nil {
				t.Errorf("waiter %d cannot release: %v", i, err)
			}
		})
		eventually(t, "the caller waits", func() bool { return h.waiting(t) == place+1 })
	}
	sum := func() (all int64) {
		for _, h := range hosts {
			all += h.commands.Load()
		}
		return all
	}
	before := sum()
	if err := hosts[0].Release(t.Context(), holder.ID, 1000); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	for i, had := range turns {
		if want := (n + 2 - i) / 3; len(had) != want || !slices.IsSorted(had) {
			t.Errorf("the turns of host %d were %v, want %d in order", i, had, want)
		}
	}
	return float64(sum()-before) / float64(n)
}

// TestWaitersEachHaveTheirTurn: Redis has a bounded number of commands for each, however many wait.
func TestWaitersEachHaveTheirTurn(t *testing.T) {
	t.Parallel()
	commands := takeTurns(t, redistest.Start(t), 200)
	t.Logf("%.1f commands for each of 200 turns", commands)
	if commands > 60 {
		t.Errorf("Redis has had %.1f commands a turn", commands)
	}
}

// TestF15_WaitersNeedNoWakeUp: Redis lets nobody publish or subscribe, so that every wake-up is lost.
func TestF15_WaitersNeedNoWakeUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--user", "default", "on", "nopass", "~*", "resetchannels", "+@all")
	if err := server.Client().Publish(t.Context(), "picket:released", "x").Err(); err == nil {
		t.Fatal("Redis lets publish")
	}
	commands := takeTurns(t, server, 15)
	t.Logf("%.1f commands for each of 15 turns", commands)
	if commands > 60 {
		t.Errorf("Redis has had %.1f commands a turn", commands)
	}
}

// TestF7_AWaiterIsGivenNoDeadClaim: it has lock and grant, and sleeps before it can answer for longer than both are worth. It is
// told that it has nothing, and leaves nothing behind.
func TestF7_AWaiterIsGivenNoDeadClaim(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	server := redistest.Start(t)
	a, b := newWaitHost(t, server, "host-a", time.Minute), newWaitHost(t, server, "host-b", ttl)
	holder, err := a.wants(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var slept atomic.Bool
	sleep := func(script string) {
		if script == "mint" && !slept.Swap(true) {
			time.Sleep(ttl)
		}
	}
	if err := server.Client().ScriptFlush(t.Context()).Err(); err != nil { // so that b learns the scripts' names
		t.Fatal(err)
	}
	b.after.Store(&sleep)
	answered := make(chan error)
	go func() {
		got, err := b.wants(t.Context(), time.Minute)
		if got != nil {
			err = errors.Join(err, errors.New("it has a claim"))
		}
		answered <- err
	}()
	eventually(t, "it waits", func() bool { return b.waiting(t) == 1 })
	if err := a.Release(t.Context(), holder.ID, 1000); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err == nil || !errors.Is(err, store.ErrUnavailable) || !slept.Load() {
		t.Errorf("got %v", err)
	}
	if list := b.Claims(0); len(list) != 0 || b.waiting(t) != 0 {
		t.Errorf("it holds %+v, and %d wait", list, b.waiting(t))
	}
	if got, err := a.wants(t.Context(), 0); err != nil || got.Token <= holder.Token+1 {
		t.Errorf("the next claim is %+v, %v", got, err)
	}
}
