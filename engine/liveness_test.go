// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestG7_AClaimAddedWhileItsProcessEndsEndsToo: its process ends while it waits for a lock, and the claims that the process had
// are just being ended when it is granted.
func TestG7_AClaimAddedWhileItsProcessEndsEndsToo(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	ttl := func(c *Config) { c.TTL = testTTL }
	e, other := f.host("host-a", ttl), f.host("host-b", ttl)
	pid, kill := child(t)
	first := byProcess(t, e, "first", pid)
	held, _ := claimed(t, other, "second", "t")
	second := make(chan ClaimResult, 1)
	go func() {
		r, err := e.Claim(t.Context(), ClaimRequest{Asset: "second", Task: "t", PID: pid, Peer: Peer{PID: pid}, Wait: patience})
		if err != nil {
			t.Error(err)
		}
		second <- r
	}()
	eventually(t, "it waits", func() bool {
		e.queue.mu.Lock()
		defer e.queue.mu.Unlock()
		return len(e.queue.byAsset["second"]) == 1
	})
	k, err := e.claims.get(first.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	k.mu.Lock() // the end of the first one takes long
	kill()
	time.Sleep(100 * time.Millisecond)
	if err := other.Release(t.Context(), held.ID, agent); err != nil {
		t.Fatal(err)
	}
	r := <-second
	k.mu.Unlock()
	if r.Claim == nil {
		t.Fatalf("got %+v", r)
	}
	for _, id := range []string{first.ID, r.Claim.ID} {
		eventually(t, "the claim ends", func() bool {
			c, err := e.GetClaim(id, 0)
			return err == nil && c.Reason == ReasonProcessExit
		})
	}
	e.processes.mu.Lock()
	defer e.processes.mu.Unlock()
	if n := len(e.processes.byID); n != 0 {
		t.Errorf("%d processes are still watched", n)
	}
}

// TestG7_HeartbeatAndCapAreLookedAtAtTheirOwnTime, though the first renewal is due much later.
func TestG7_HeartbeatAndCapAreLookedAtAtTheirOwnTime(t *testing.T) {
	long := func(c *Config) { c.TTL = 10 * time.Minute }
	for reason, change := range map[Reason]func(*claim){
		ReasonSilent:  func(c *claim) { c.heartbeat = 2 * time.Second },
		ReasonMaxHold: func(c *claim) { c.maxHold = 2 * time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			e, c, _ := bubble(t, renewed, change, long)
			if left := e.view(c).Trusted; left != 2*time.Second {
				t.Errorf("%s: it is said to be trusted for %s", reason, left)
			}
			time.Sleep(2*time.Second - time.Millisecond)
			synctest.Wait()
			if r := reasonOf(c); r != "" {
				t.Errorf("lost for %s before its time", r)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if r := reasonOf(c); r != reason {
				t.Errorf("2 s later its reason is %q, want %s", r, reason)
			}
		})
	}
}

// TestG7_ACapThatIsOverIsSeenByTheNextCall: after a freeze the watchdog may come second.
func TestG7_ACapThatIsOverIsSeenByTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, renewed, func(c *claim) { c.maxHold = 3 * time.Second })
		time.Sleep(time.Second)
		p.stopped.Store(int64(4 * time.Second))
		wantLost(t, e.alive(c), ReasonMaxHold)
	})
}

// TestG7_ACallUnderWayIsNoSilence: an agent that waits for an answer of ours cannot give another sign of life.
func TestG7_ACallUnderWayIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, _ := bubble(t, renewed, func(c *claim) { c.heartbeat = 2 * time.Second })
		end := e.calling(c)
		time.Sleep(time.Minute)
		if left := e.view(c).Trusted; reasonOf(c) != "" || left != 2*time.Second {
			t.Errorf("during the call: trusted for %s, lost for %q", left, reasonOf(c))
		}
		end()
		time.Sleep(2*time.Second - time.Millisecond)
		if r := reasonOf(c); r != "" {
			t.Errorf("lost for %s before its time", r)
		}
		time.Sleep(tick)
		if r := reasonOf(c); r != ReasonSilent {
			t.Errorf("reason is %q, want %s", r, ReasonSilent)
		}
	})
}

// TestG7_NobodyIsSilentWhileTheDaemonDoesNotServe: from a drain on a heartbeat cannot be given, and does not limit what a watch says.
func TestG7_NobodyIsSilentWhileTheDaemonDoesNotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, _ := bubble(t, renewed, func(c *claim) { c.heartbeat = 2 * time.Second })
		time.Sleep(time.Second)
		e.Drain()
		v, err := e.WatchClaim(t.Context(), c.id, agent, time.Minute)
		if err != nil || v.Trusted < e.config.TTL/2 {
			t.Errorf("a watch answers %+v, %v", v, err)
		}
		time.Sleep(10 * time.Second)
		if left := e.view(c).Trusted; reasonOf(c) != "" || left != time.Second {
			t.Errorf("while it drains: trusted for %s, lost for %q", left, reasonOf(c))
		}
		e.Serving()
		time.Sleep(time.Second - time.Millisecond)
		if r := reasonOf(c); r != "" {
			t.Errorf("lost for %s before the calls that had waited were read", r)
		}
		time.Sleep(tick)
		if r := reasonOf(c); r != ReasonSilent {
			t.Errorf("reason is %q, want %s: its silence before the drain counts", r, ReasonSilent)
		}
	})
}

// TestG7_ANewClaimIsLookedAtBeforeItsFirstRenewal: from its first moment on.
func TestG7_ANewClaimIsLookedAtBeforeItsFirstRenewal(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a", func(c *Config) { c.TTL = 10 * time.Minute })
	for reason, r := range map[Reason]ClaimRequest{
		ReasonSilent:  {Asset: "silent", Heartbeat: heartbeatMin},
		ReasonMaxHold: {Asset: "capped", Heartbeat: time.Hour, MaxHold: maxHoldMin},
	} {
		r.Task, r.Peer = "t", Peer{UID: agent, PID: 42}
		got, err := e.Claim(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if left := got.Claim.Trusted; left > time.Second {
			t.Errorf("%s: it is said to be trusted for %s", r.Asset, left)
		}
		eventually(t, "it ends", func() bool {
			c, err := e.GetClaim(got.Claim.ID, agent)
			return err == nil && c.Reason == reason
		})
	}
}
