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
)

func init() {
	contract["a held asset is answered with its holder"] = heldAnswer
	contract["F15 a waiter gets its turn, hint or not"] = waiterGetsTurn
	contract["F10 a caller who went away leaves nothing"] = callerGone
	contract["waiters of a host are first come first served"] = firstCome
	contract["G7 G8 a process that ends frees its claim at once"] = processExit
	contract["G8 a watch tells of a loss"] = watchTells
}

func waiting(e *Engine, task string, wait time.Duration) ClaimRequest {
	r := ask("wait", task)
	r.Wait = wait
	return r
}

func heldAnswer(t *testing.T, s *store) {
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
	if ticket, err := b.Ticket(t.Context(), TicketID{"held", "t"}); err != nil || ticket.Holder == nil || ticket.Holder.Host != "host-a" {
		t.Errorf("the ticket's holder is %+v, %v", ticket.Holder, err)
	}
}

func waiterGetsTurn(t *testing.T, s *store) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	for _, hint := range []bool{true, false} {
		c, _ := claimed(t, a, "wait", "t")
		time.AfterFunc(300*time.Millisecond, func() {
			if hint {
				_ = a.Release(context.Background(), c.ID, agent)
			} else {
				a.redis.Del(context.Background(), a.keys.lock("wait"))
			}
		})
		r, err := b.Claim(t.Context(), waiting(b, "t", 10*time.Second))
		if err != nil || r.Claim == nil {
			t.Fatalf("hint %v: got %+v, %v", hint, r, err)
		}
		if err := b.Release(t.Context(), r.Claim.ID, agent); err != nil {
			t.Fatal(err)
		}
	}
	// After a wait the ticket is screened again: what was finished meanwhile is answered, not claimed.
	c, _ := claimed(t, a, "wait", "screen")
	if _, err := step(t, a, c, "online", AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _, _ = a.Finish(context.Background(), c.ID, agent, "") })
	if r, err := b.Claim(t.Context(), waiting(b, "screen", 10*time.Second)); err != nil || r.Claim != nil || r.Ticket.State != Finished {
		t.Errorf("got %+v, %v", r, err)
	}
}

func callerGone(t *testing.T, s *store) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "wait", "t")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := b.Claim(ctx, waiting(b, "t", time.Minute))
	wantErr(t, err, context.DeadlineExceeded)
	if err := a.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if b.redis.Exists(t.Context(), b.keys.lock("wait")).Val() != 0 {
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

func firstCome(t *testing.T, s *store) {
	f := s.fleet(t)
	e := f.host("host-a")
	c, _ := claimed(t, e, "wait", "first")
	order := make(chan string, 5)
	for _, task := range []string{"1", "2", "3", "4", "5"} {
		go func() {
			r, err := e.Claim(context.Background(), waiting(e, task, time.Minute))
			if err != nil {
				order <- err.Error()
				return
			}
			order <- task
			_ = e.Release(context.Background(), r.Claim.ID, agent)
		}()
		for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(time.Millisecond) {
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

func processExit(t *testing.T, s *store) {
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
	next, err := b.Claim(t.Context(), waiting(b, "t", 20*time.Second))
	if err != nil || next.Claim == nil {
		t.Fatalf("the waiter got %+v, %v", next, err)
	}
	for _, id := range []string{got.Claim.ID, second.Claim.ID} {
		v, err := a.WatchClaim(t.Context(), id, 0, 10*time.Second)
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

func watchTells(t *testing.T, s *store) {
	f := s.fleet(t)
	a := f.host("host-a")
	c, _ := claimed(t, a, "watch", "t")
	v, err := a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	if err != nil || v.Status != Held || v.Trusted <= 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	a.redis.Set(t.Context(), a.keys.lock("watch"), "somebody", time.Minute)
	for v.Status == Held && err == nil {
		v, err = a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	}
	if err != nil || v.Reason != ReasonTaken {
		t.Errorf("got %+v, %v", v, err)
	}
	c, _ = claimed(t, a, "watch-2", "t")
	a.redis.Del(t.Context(), a.keys.lock("watch-2"), a.keys.grant("watch-2"), a.keys.ticket(c.Ticket))
	v, err = a.GetClaim(c.ID, agent)
	for v.Status == Held && err == nil {
		v, err = a.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	}
	if err != nil || v.Reason != ReasonStoreReset {
		t.Errorf("got %+v, %v", v, err)
	}
}

func init() { contract["F25 an agent in another PID namespace"] = otherNamespace }

// otherNamespace: such a peer is known by its pidfd; a pid that it names means nothing here; its end frees the claim.
func otherNamespace(t *testing.T, s *store) {
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
