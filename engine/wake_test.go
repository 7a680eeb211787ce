// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func TestG8_ABreakElsewhereIsToldToTheHolder(t *testing.T) { everywhere(t, toldOfABreak) }

func TestF15_AReleaseWakesOnlyWhoWaits(t *testing.T) { everywhere(t, wakesWhoWaits) }

func TestF15_WhatWasNotHeardIsLookedForWhenTheConnectionIsBack(t *testing.T) {
	everywhere(t, looksAgain)
}

// patient is a host that finds nothing out by itself within a test: it renews, and looks at a lock that it waits for, once a minute.
func (f *fleet) patient(name string) *Engine {
	e := f.frozen(name, func(c *Config) { c.TTL = 10 * time.Minute })
	e.queue.pause = 10 * time.Minute
	e.Start()
	eventually(f.t, name+" hears what is for it", func() bool { return f.listeners(f.prefix+":holder:"+name) == 1 })
	return e
}

// waiters are how many daemons a release of an asset is delivered to.
func waiters(f *fleet, e *Engine, a store.Asset) int64 { return f.listeners(e.store.Keys.Lock(a)) }

func (f *fleet) listeners(channel string) (n int64) {
	masters(f, func(c *redis.Client) {
		n += c.PubSubNumSub(f.t.Context(), channel).Val()[channel]
		n += c.PubSubShardNumSub(f.t.Context(), channel).Val()[channel] // none before Redis 7
	})
	return n
}

func masters(f *fleet, each func(*redis.Client)) {
	if c, ok := f.client.(*redis.Client); ok {
		each(c)
		return
	}
	var one sync.Mutex
	_ = f.client.(*redis.ClusterClient).ForEachMaster(f.t.Context(), func(_ context.Context, c *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		each(c)
		return nil
	})
}

// lostFor waits for a claim's loss, for longer than a test's machine may be busy and for less than a renewal takes to come by itself.
func lostFor(t *testing.T, e *Engine, c *Claim, want Reason) {
	t.Helper()
	v, err := e.WatchClaim(t.Context(), c.ID, agent, time.Minute)
	if err != nil || v.Status != Lost || v.Reason != want {
		t.Errorf("got %s %s, %v, want lost for %s", v.Status, v.Reason, err, want)
	}
}

// TestF15_AReleaseWakesWhereNothingIsPublishedInShards: on a server like Redis 6, and on one that lets this user not.
func TestF15_AReleaseWakesWhereNothingIsPublishedInShards(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"without the commands": {"--rename-command", "SSUBSCRIBE", "", "--rename-command", "SPUBLISH", ""},
		"without the right":    {"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-ssubscribe", "-spublish"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, args...)
			c := client(server.Addr())
			t.Cleanup(func() { _ = c.Close() })
			if err := c.SPublish(t.Context(), "x", "").Err(); err == nil {
				t.Fatal("it publishes in shards")
			}
			s := &shared{Client: c}
			toldOfABreak(t, s)
			wakesWhoWaits(t, s)
			looksAgain(t, s)
		})
	}
}

func toldOfABreak(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b, c := f.patient("host-a"), f.patient("host-b"), f.patient("host-c")
	mine, _ := claimed(t, a, "broken", "t")
	other, _ := claimed(t, c, "other", "t")
	if err := b.Break(t.Context(), "broken", "1/0", "it hangs"); err != nil {
		t.Fatal(err)
	}
	lostFor(t, a, mine, ReasonForced)
	if v, err := c.GetClaim(other.ID, agent); err != nil || v.Status != Held {
		t.Errorf("another's claim is %s, %v", v.Status, err)
	}
	// So is one that a reopened ticket fences off.
	mine, _ = claimed(t, a, "reopened", "t")
	if _, err := a.Fail(t.Context(), mine.ID, agent, FailureRequest{"online", "broken", true}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reopen(t.Context(), mine.Ticket, "1/0", "try again"); err != nil {
		t.Fatal(err)
	}
	lostFor(t, a, mine, ReasonForced)
}

func wakesWhoWaits(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b, c := f.patient("host-a"), f.patient("host-b"), f.patient("host-c")
	held, _ := claimed(t, a, "wait", "t")
	claimed(t, c, "other", "t")
	got := make(chan error)
	for _, task := range []string{"t", "u"} { // one host's waiters share a subscription
		go func() {
			r, err := b.Claim(context.Background(), waiting(b, task, time.Minute))
			if err == nil {
				err = b.Release(context.Background(), r.Claim.ID, agent)
			}
			got <- err
		}()
	}
	eventually(t, "two wait", func() bool {
		b.queue.mu.Lock()
		defer b.queue.mu.Unlock()
		return len(b.queue.byAsset["wait"]) == 2
	})
	eventually(t, "one host listens for the asset", func() bool { return waiters(f, a, "wait") == 1 })
	if n := waiters(f, a, "other"); n != 0 {
		t.Errorf("%d listen for an asset that nobody waits for", n)
	}
	if err := a.Release(t.Context(), held.ID, agent); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-got; err != nil {
			t.Errorf("a waiter was not woken: %v", err)
		}
	}
	eventually(t, "nobody listens when nobody waits", func() bool { return waiters(f, a, "wait") == 0 })
}

func looksAgain(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.patient("host-a"), f.patient("host-b")
	mine, _ := claimed(t, a, "lost", "t")
	claimed(t, a, "wait", "t")
	got := make(chan error)
	go func() {
		_, err := b.Claim(context.Background(), waiting(b, "u", time.Minute))
		got <- err
	}()
	eventually(t, "the host listens for the asset", func() bool { return waiters(f, a, "wait") == 1 })
	letGo(t, a, "wait")
	letGo(t, a, "lost")
	f.client.HSet(t.Context(), a.store.Keys.Grant("lost"), "forced", "1")
	masters(f, func(c *redis.Client) {
		if err := c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
	})
	if err := <-got; err != nil {
		t.Errorf("the waiter did not look again: %v", err)
	}
	lostFor(t, a, mine, ReasonForced)
}
