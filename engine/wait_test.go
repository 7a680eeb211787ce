// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
)

func TestAHeldAssetIsAnsweredWithItsHolder(t *testing.T) { everywhere(t, heldAnswer) }

func TestF15_AWaiterGetsItsTurnHintOrNot(t *testing.T) { everywhere(t, waiterGetsTurn) }

func TestF10_ACallerWhoWentAwayLeavesNothing(t *testing.T) { everywhere(t, callerGone) }

func TestWaitersOfAHostAreFirstComeFirstServed(t *testing.T) { everywhere(t, firstCome) }

func TestG7_G8_AProcessThatEndsFreesItsClaimAtOnce(t *testing.T) { everywhere(t, processExit) }

func TestG8_AWatchTellsOfALoss(t *testing.T) { everywhere(t, watchTells) }

// waitFor asks for an asset, for as long as a test waits.
func waitFor(asset, task string) ClaimRequest {
	r := ask(asset, task)
	r.Wait = patience
	return r
}

func waiting(e *Engine, task string, wait time.Duration) ClaimRequest {
	r := ask("wait", task)
	r.Wait = wait
	return r
}

func heldAnswer(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	claimed(t, a, "held", "t")
	_, err := b.Claim(t.Context(), ask("held", "u"))
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("got %v", err)
	}
	h := held.Holder
	if h.Host != "host-a" || h.Task != "t" || h.UID != agent || h.PID != 42 || h.Remaining <= 0 || h.Remaining > testTTL {
		t.Errorf("holder is %+v", h)
	}
	if ticket, err := b.Ticket(t.Context(), store.ID("held", "t")); err != nil || ticket.Holder == nil || ticket.Holder.Host != "host-a" {
		t.Errorf("the ticket's holder is %+v, %v", ticket.Holder, err)
	}
}

func waiterGetsTurn(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	for _, hint := range []bool{true, false} {
		c, _ := claimed(t, a, "wait", "t")
		time.AfterFunc(300*time.Millisecond, func() {
			if hint {
				_ = a.Release(context.Background(), c.ID, agent)
			} else {
				a.config.Redis.Del(context.Background(), a.store.Keys.Lock("wait"))
			}
		})
		r, err := b.Claim(t.Context(), waiting(b, "t", patience))
		if err != nil || r.Claim == nil {
			t.Fatalf("hint %v: got %+v, %v", hint, r, err)
		}
		if err := b.Release(t.Context(), r.Claim.ID, agent); err != nil {
			t.Fatal(err)
		}
	}
	// After a wait the ticket is screened again: what was finished meanwhile is answered, not claimed.
	c, _ := claimed(t, a, "wait", "screen")
	if _, err := step(t, a, c, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _, _ = a.Finish(context.Background(), c.ID, agent, "") })
	if r, err := b.Claim(t.Context(), waiting(b, "screen", patience)); err != nil || r.Claim != nil || r.Ticket.State != store.Finished {
		t.Errorf("got %+v, %v", r, err)
	}
}

func callerGone(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "wait", "t")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err := b.Claim(ctx, waiting(b, "t", time.Minute))
	wantErr(t, err, context.Canceled)
	if err := a.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if b.config.Redis.Exists(t.Context(), b.store.Keys.Lock("wait")).Val() != 0 {
		t.Error("a lock was taken for a caller who went away")
	}
	if n := len(b.queue.byAsset); n != 0 {
		t.Errorf("%d places are left in the queue", n)
	}
	// A release goes on when its caller goes away.
	c, _ = claimed(t, a, "wait", "t")
	gone, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Release(gone, c.ID, agent); err != nil {
		t.Errorf("release with a cancelled request: %v", err)
	}
	// Draining answers those who wait at once.
	claimed(t, a, "wait", "t")
	time.AfterFunc(100*time.Millisecond, b.Drain)
	_, err = b.Claim(t.Context(), waiting(b, "t", time.Minute))
	wantErr(t, err, ErrDraining)
}

func firstCome(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.host("host-a")
	c, _ := claimed(t, e, "wait", "first")
	order := make(chan string, 5)
	for _, task := range []string{"1", "2", "3", "4", "5"} {
		go func() {
			r, err := e.Claim(context.Background(), waiting(e, task, patience))
			if err != nil {
				order <- err.Error()
				return
			}
			order <- task
			_ = e.Release(context.Background(), r.Claim.ID, agent)
		}()
		for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
			e.queue.mu.Lock()
			n := len(e.queue.byAsset["wait"])
			e.queue.mu.Unlock()
			if n == int(task[0]-'0') {
				break
			}
		}
	}
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	for want := '1'; want <= '5'; want++ {
		if got := <-order; got != string(want) {
			t.Errorf("%s had its turn, want %c", got, want)
		}
	}
}

func processExit(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a", func(c *Config) { c.TTL = time.Minute }), f.host("host-b", func(c *Config) { c.TTL = time.Minute })
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	r := ClaimRequest{Asset: "wait", Task: "t", PID: child.Process.Pid, Peer: Peer{UID: 0, PID: 1}}
	got, err := a.Claim(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Claim(t.Context(), ClaimRequest{Asset: "wait-2", Task: "t", PID: child.Process.Pid, Peer: Peer{UID: 0, PID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = child.Process.Kill(); _ = child.Wait() })
	next, err := b.Claim(t.Context(), waiting(b, "t", patience))
	if err != nil || next.Claim == nil {
		t.Fatalf("the waiter got %+v, %v", next, err)
	}
	for _, id := range []string{got.Claim.ID, second.Claim.ID} {
		v, err := a.WatchClaim(t.Context(), id, 0, patience)
		if err != nil || v.Status != Lost || v.Reason != ReasonProcessExit {
			t.Errorf("got %+v, %v", v, err)
		}
	}
	names, _ := events(t, a, got.Claim.Ticket)
	if names[1] != "lost" {
		t.Errorf("events are %v", names)
	}
	_, err = a.Claim(t.Context(), r)
	wantErr(t, err, ErrInvalid)
	_, err = a.Claim(t.Context(), ClaimRequest{Asset: "x", Task: "t", PID: 1, Peer: Peer{UID: agent}})
	wantErr(t, err, ErrForbidden)
}

func watchTells(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.host("host-a", short)
	c, _ := claimed(t, a, "watch", "t")
	v, err := a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	if err != nil || v.Status != Held || v.Trusted <= 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	a.config.Redis.Set(t.Context(), a.store.Keys.Lock("watch"), "somebody", time.Minute)
	for v.Status == Held && err == nil {
		v, err = a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	}
	if err != nil || v.Reason != ReasonTaken {
		t.Errorf("got %+v, %v", v, err)
	}
	c, _ = claimed(t, a, "watch-2", "t")
	a.config.Redis.Del(t.Context(), a.store.Keys.Lock("watch-2"), a.store.Keys.Grant("watch-2"), a.store.Keys.Ticket(c.Ticket))
	v, err = a.GetClaim(c.ID, agent)
	for v.Status == Held && err == nil {
		v, err = a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	}
	if err != nil || v.Reason != ReasonStoreReset {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestF25_AnAgentInAnotherPIDNamespace(t *testing.T) { everywhere(t, otherNamespace) }

// otherNamespace: such a peer is known by its pidfd; a pid that it names means nothing here; its end frees the claim.
func otherNamespace(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	inner := exec.Command("sleep", "60")
	inner.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := inner.Start(); err != nil {
		t.Skipf("cannot make a PID namespace: %v", err)
	}
	kill := func() { _ = inner.Process.Kill(); _ = inner.Wait() }
	t.Cleanup(kill)
	p, err := process.Open(inner.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !p.Foreign() {
		t.Error("it is not seen as of another namespace")
	}
	peer := Peer{UID: 0, PID: p.PID(), Process: p, Foreign: true}
	_, err = e.Claim(t.Context(), ClaimRequest{Asset: "container", Task: "t", PID: 1, Peer: peer})
	wantErr(t, err, ErrInvalid)
	got, err := e.Claim(t.Context(), ClaimRequest{Asset: "container", Task: "t", Peer: peer})
	if err != nil {
		t.Fatal(err)
	}
	kill()
	v, err := e.GetClaim(got.Claim.ID, 0)
	for v.Status == Held && err == nil {
		v, err = e.WatchClaim(t.Context(), got.Claim.ID, 0, time.Minute)
	}
	if err != nil || v.Reason != ReasonProcessExit {
		t.Errorf("got %+v, %v", v, err)
	}
}
