// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// TestG5_AnEndWhoseAnswerWasLostAnswersAsBefore: a finish and a release land, their answers are lost, and Redis is away for longer
// than the call asks: until a renewal finds the lock gone, or until the trust has run out.
func TestG5_AnEndWhoseAnswerWasLostAnswersAsBefore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"found by a renewal", "after the trust has run out"} {
		for _, how := range []string{"finish", "release"} {
			s := script(how)
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.Proxy(t, server.Addr())
				c := client(proxy.Addr())
				t.Cleanup(func() { _ = c.Close() })
				told := &auditLog{}
				e := (&fleet{t, c, "picket"}).host("host-a", short, func(c *Config) { c.Audit = told.add })
				k, _ := claimed(t, e, "x", "t")
				if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
					t.Fatal(err)
				}
				end := func() error { return e.Release(t.Context(), k.ID, agent) }
				if how == "finish" {
					end = func() error { _, err := e.Finish(t.Context(), k.ID, agent, "done"); return err }
				}
				if err := s.Load(t.Context(), c).Err(); err != nil {
					t.Fatal(err)
				}
				gone := proxy.LoseNextReply(s.Hash())
				go func() { <-gone; proxy.Refuse() }()
				wantErr(t, end(), store.ErrUnavailable)
				if name == "after the trust has run out" {
					eventually(t, name, lost(e, k))
				}
				proxy.Restore()
				eventually(t, "it is known to have ended", func() bool {
					v, err := e.GetClaim(k.ID, agent)
					return err == nil && v.Reason == ReasonReleased
				})
				if err := end(); err != nil {
					t.Errorf("again: %v", err)
				}
				told.neverLost(t)
			})
		}
	}
}

func lost(e *Engine, c *Claim) func() bool {
	return func() bool {
		v, err := e.GetClaim(c.ID, agent)
		return err == nil && v.Status == Lost
	}
}

// TestAnEndThatDidNotLandIsALoss: no call of the agent's ended the claim, and the audit says so once it is known.
func TestAnEndThatDidNotLandIsALoss(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	told := &auditLog{}
	e := (&fleet{t, c, "picket"}).host("host-a", short, func(c *Config) { c.Audit = told.add })
	k, _ := claimed(t, e, "x", "t")
	proxy.Refuse()
	wantErr(t, e.Release(t.Context(), k.ID, agent), store.ErrUnavailable)
	eventually(t, "its trust runs out", lost(e, k))
	proxy.Restore()
	eventually(t, "it is told to be lost", func() bool {
		return slices.ContainsFunc(told.moves(), func(s string) bool { return strings.Contains(s, string(audit.Lost)) })
	})
	wantLost(t, e.Release(t.Context(), k.ID, agent), ReasonExpired)
}

// TestAWriteWaitsForReplicas: that Redis has too few of them for a moment passes like a failover.
func TestAWriteWaitsForReplicas(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("host-a", func(c *Config) { c.TTL = testTTL })
	c, _ := claimed(t, e, "x", "t")
	admin := server.Client()
	admin.ConfigSet(t.Context(), "min-replicas-to-write", "1")
	time.AfterFunc(300*time.Millisecond, func() { admin.ConfigSet(context.Background(), "min-replicas-to-write", "0") })
	if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
		t.Error(err)
	}
}

// TestNewcomersDoNotPassWhoWaits: the asset is free for a moment, and the first who waits on this host has not looked yet.
func TestNewcomersDoNotPassWhoWaits(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a", func(c *Config) { c.TTL = testTTL })
	first := e.queue.join("x")
	var held *HeldError
	if _, err := e.Claim(t.Context(), ask("x", "t")); !errors.As(err, &held) {
		t.Errorf("one who came later got %v", err)
	}
	first.leave()
	claimed(t, e, "x", "t")
}

// TestG5_AnEndWhoseAnswerWasLostAnswersAsBeforeAfterARestart: a finish and a release land, their answers are lost, and the daemon ends
// before it knows: while it holds the claim for held, or after its trust has run out.
func TestG5_AnEndWhoseAnswerWasLostAnswersAsBeforeAfterARestart(t *testing.T) {
	t.Parallel()
	for name, ttl := range map[string]time.Duration{"held": testTTL, "lost": shortTTL} {
		for _, how := range []string{"finish", "release"} {
			s := script(how)
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.Proxy(t, server.Addr())
				c := client(proxy.Addr())
				t.Cleanup(func() { _ = c.Close() })
				told, folder, f := &auditLog{}, t.TempDir(), &fleet{t, c, "picket"}
				run := func() *Engine {
					return f.host("host-a", func(c *Config) { c.TTL, c.Audit, c.StateDir = ttl, told.add, folder })
				}
				e := run()
				k, _ := claimed(t, e, "x", "t")
				if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
					t.Fatal(err)
				}
				end := func() error { return e.Release(t.Context(), k.ID, agent) }
				if how == "finish" {
					end = func() error { _, err := e.Finish(t.Context(), k.ID, agent, "done"); return err }
				}
				if err := s.Load(t.Context(), c).Err(); err != nil {
					t.Fatal(err)
				}
				gone := proxy.LoseNextReply(s.Hash())
				go func() { <-gone; proxy.Refuse() }()
				wantErr(t, end(), store.ErrUnavailable)
				if name == "lost" {
					eventually(t, "its trust runs out", lost(e, k))
					wantErr(t, end(), store.ErrUnavailable) // it is still not known
				}
				_ = e.Stop(t.Context())
				e = run()
				wantErr(t, end(), store.ErrUnavailable)
				proxy.Restore()
				var err error
				eventually(t, "Redis answers", func() bool { err = end(); return !errors.Is(err, store.ErrUnavailable) })
				if err != nil {
					t.Errorf("again: %v", err)
				}
				told.neverLost(t)
			})
		}
	}
}

// TestG5_AFinishHearsOfOneThatHadLanded: an earlier one is found out to have ended the claim while this call is under way.
func TestG5_AFinishHearsOfOneThatHadLanded(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	var landed func()
	e := f.host("host-a", func(c *Config) {
		c.Weigh = func(context.Context, int64) error { landed(); return nil }
	})
	k, _ := claimed(t, e, "x", "t")
	if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.size.Store(2 * light)
	landed = func() {
		by := c.writer()
		by.Number = c.number + 1
		if _, err := e.store.WriteClaim(t.Context(), c.ticket, by, e.store.Finish(c.flow, "done"), ""); err != nil {
			t.Error(err)
		}
		c.setFinished()
		e.conclude(c, ReasonReleased)
	}
	if ticket, err := e.Finish(t.Context(), k.ID, agent, "done"); err != nil || ticket.State != store.Finished {
		t.Errorf("got %s, %v", ticket.State, err)
	}
}

// TestG5_AnEndThatLandsAfterARestart: the earlier run sent it, and the network brought it when the next had taken the claim up.
func TestG5_AnEndThatLandsAfterARestart(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	pid, _ := child(t)
	k := byProcess(t, e, "late", pid)
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	e, _ = f.run(folder)
	_, err = e.store.Release(t.Context(), c.ticket, c.writer(), "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim is known to be released", func() bool {
		v, err := e.GetClaim(k.ID, 0)
		return err == nil && v.Status == Released
	})
}
