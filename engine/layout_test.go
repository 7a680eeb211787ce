// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func TestDataOfAnotherLayoutAreNotTouched(t *testing.T) { everywhere(t, otherLayout) }

// storeKeys are the keys of the masters' incarnations.
func storeKeys(t *testing.T, e *Engine) []string {
	t.Helper()
	masters, err := e.store.Masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := e.store.IncarnationKeys(t.Context(), masters)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// dumps are all values below the fleet's prefix, read by a client of its own: a daemon that touches nothing bars its own.
func dumps(t *testing.T, f *fleet) map[string]string {
	t.Helper()
	f = &fleet{t, (&shared{Client: f.client}).apart(t), f.prefix}
	all := map[string]string{}
	masters(f, func(c *redis.Client) {
		for keys := c.Scan(t.Context(), 0, f.prefix+":*", 1000).Iterator(); keys.Next(t.Context()); {
			all[keys.Val()] = c.Dump(t.Context(), keys.Val()).Val()
		}
	})
	return all
}

func otherLayout(t *testing.T, s *shared) {
	f := s.fleet(t)
	running := f.host("host-a")
	held, _ := claimed(t, running, "held", "t")
	claimed(t, running, "finished", "t")
	keys := storeKeys(t, running)
	look(t, running)
	for _, key := range keys { // on each master: any of them may be lost
		if got := f.client.HGet(t.Context(), key, "layout").Val(); got != store.Layout {
			t.Errorf("%s has the layout %q", key, got)
		}
	}
	key := slices.Max(keys)
	incarnation := f.client.HGet(t.Context(), key, "incarnation").Val()
	for name, c := range map[string]struct {
		write func()
		says  string
	}{
		"another number": {func() { f.client.HSet(t.Context(), key, "layout", "999") }, "has layout 999 (" + key + ")"},
		"no number": {func() {
			f.client.Del(t.Context(), key)
			f.client.Set(t.Context(), key, incarnation, 0)
		}, "has a layout without a number (" + key + ")"},
	} {
		c.write()
		fresh := f.frozen("host-b")
		other, ok := errors.AsType[*store.LayoutError](fresh.Enter(t.Context()))
		if !ok || !strings.Contains(other.Error(), c.says) || !strings.Contains(other.Error(), "writes layout "+store.Layout) {
			t.Errorf("%s: a start is told %v", name, other)
		}
		if err := running.lookout.Look(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: a look finds %v", name, err)
		}
		if !slices.Contains(alarmed(running), lookout.AlarmLayout) {
			t.Errorf("%s: the alarms are %q", name, alarmed(running))
		}
		before := dumps(t, f)
		eventually(t, "a held claim is lost at its deadline", func() bool {
			v, err := running.GetClaim(held.ID, agent)
			return err == nil && v.Status == Lost
		})
		for what, err := range map[string]error{
			"a claim": failing(running.Claim(t.Context(), ask("new", "t"))), "a sign": running.lookout.Sign(t.Context()),
			"a break": running.Break(t.Context(), "held", "1/0", "try"), "a probe": running.Probe(t.Context()), "a probe at the start": fresh.Probe(t.Context()),
		} {
			if other, ok := errors.AsType[*store.LayoutError](err); !ok {
				t.Errorf("%s: %s is answered %v, want %v", name, what, err, other)
			}
		}
		after := dumps(t, f)
		maps.DeleteFunc(before, func(key, _ string) bool { // what runs out by itself
			_, lives := after[key]
			return !lives && (strings.HasSuffix(key, ":lock") || strings.Contains(key, ":host:"))
		})
		if len(after) < 5 || !maps.Equal(before, after) {
			t.Errorf("%s: what stands there has changed: %q, then %q", name, slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
		}
		f.client.Del(t.Context(), key)
		f.client.HSet(t.Context(), key, "incarnation", incarnation, "layout", store.Layout)
		look(t, running)
		wantAlarms(t, running)
		c, _ := claimed(t, running, "again", "t")
		if err := running.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
	}
	// What was lost is made anew.
	f.client.Del(t.Context(), key)
	look(t, running)
	if got := f.client.HGet(t.Context(), key, "layout").Val(); got != store.Layout {
		t.Errorf("the layout is %q where the data were lost", got)
	}
	wantAlarms(t, running, lookout.AlarmStoreReset)
}

func failing[T any](_ T, err error) error { return err }

// TestWhatStandsInRedisIsKnownBeforeItIsTouched: it was away when the daemon started, and comes back with data of another layout.
func TestWhatStandsInRedisIsKnownBeforeItIsTouched(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	f.client.HSet(t.Context(), "picket:store:0", "incarnation", "x", "layout", "999")
	before := dumps(t, f)
	server.Freeze()
	var thaw sync.Once
	t.Cleanup(func() { thaw.Do(server.Thaw) })
	e := f.frozen("host-a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := e.Enter(ctx); err != nil {
		t.Fatalf("a Redis that is away keeps the daemon from starting: %v", err)
	}
	e.Start()
	waits := make(chan error)
	go func() { waits <- failing(e.Claim(t.Context(), ask("a", "t"))) }()
	thaw.Do(server.Thaw)
	if err := <-waits; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a claim is answered %v", err)
	}
	eventually(t, "the alarm is raised", func() bool { return slices.Contains(alarmed(e), lookout.AlarmLayout) })
	if after := dumps(t, f); !maps.Equal(before, after) {
		t.Errorf("there stands %q", slices.Sorted(maps.Keys(after)))
	}
	f.client.HSet(t.Context(), "picket:store:0", "layout", store.Layout)
	eventually(t, "claims are granted", func() bool { return failing(e.Claim(t.Context(), ask("a", "t"))) == nil })
}

// TestAMasterThatIsAwayKeepsNobodyFromTheOthers: what the others have is known.
func TestAMasterThatIsAwayKeepsNobodyFromTheOthers(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := client(cluster.Addrs()...)
	t.Cleanup(func() { _ = c.Close() })
	f := &fleet{t, c, "picket"}
	look(t, f.frozen("host-a"))
	away := cluster.Server("picket:{a}:lock")
	away.Freeze()
	t.Cleanup(away.Thaw)
	e := f.frozen("host-b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := e.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	e.Start()
	for _, asset := range []string{"b", "c", "d", "e"} {
		if cluster.Server("picket:{"+asset+"}:lock") != away {
			eventually(t, "a claim on another master is granted", func() bool { return failing(e.Claim(t.Context(), ask(asset, "t"))) == nil })
			return
		}
	}
}
