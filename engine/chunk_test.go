// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/store"
)

func TestAChunkIsPassedOverOnlyWhileAllOfItIsDone(t *testing.T) { everywhere(t, marks) }

// chunkOf asks for a chunk, which must have these open, failed and at high risk.
func chunkOf(t *testing.T, e *Engine, of []store.Asset, open, failed, risky []int) string {
	t.Helper()
	c, err := e.Chunk(t.Context(), "t", of)
	if err != nil || !slices.Equal(c.Open, open) || !slices.Equal(c.Failed, failed) || !slices.Equal(c.HighRisk, risky) {
		t.Fatalf("open %v, failed %v, at high risk %v, %v; want %v, %v, %v", c.Open, c.Failed, c.HighRisk, err, open, failed, risky)
	}
	return c.Basis
}

func marks(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("a"), f.frozen("b")
	look(t, a)
	look(t, b)
	of := []store.Asset{"chunk-0", "chunk-1", "chunk-2"}
	end := func(i int, finish bool) {
		t.Helper()
		c, _ := claimed(t, a, string(of[i]), "t")
		var err error
		if !finish {
			_, err = a.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "no", Final: true})
			letGo(t, a, of[i])
		} else if _, err = step(t, a, c, "online", store.AssetOffline, ""); err == nil {
			_, err = a.Finish(t.Context(), c.ID, agent, "offline")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	marked := func(want int64) {
		t.Helper()
		n, err := s.Client.HLen(t.Context(), a.store.Keys.Marks("t")).Result()
		if err != nil || max(n-1, 0) != want { // beside the epoch
			t.Fatalf("%d fields, %v, want %d marks", n, err, want)
		}
	}
	chunkOf(t, b, of, []int{0, 1, 2}, nil, nil)
	end(0, true)
	end(2, false)
	chunkOf(t, b, of, []int{1}, []int{2}, nil)
	marked(0)
	end(1, true)
	basis := chunkOf(t, a, of, []int{}, []int{2}, nil)
	marked(1)
	if got := chunkOf(t, b, of, []int{}, []int{2}, nil); got != basis || basis == "" {
		t.Errorf("it rests on %q and %q", basis, got)
	}
	// Of another task, or another part of the list, nothing is known by that.
	if c, err := b.Chunk(t.Context(), "other", of); err != nil || len(c.Open) != 3 {
		t.Errorf("under another task: %+v, %v", c, err)
	}
	chunkOf(t, b, append(slices.Clone(of), "chunk-3"), []int{3}, []int{2}, nil)

	// A reopened ticket is not passed over, and for a while nothing is marked.
	if _, err := a.Reopen(t.Context(), store.ID(of[0], "t"), "1/0", "once more"); err != nil {
		t.Fatal(err)
	}
	marked(0)
	if got := chunkOf(t, b, of, []int{0}, []int{2}, nil); got == "" || got == basis {
		t.Errorf("while it may be reopened the answer rests on %q, after %q", got, basis)
	}
	end(0, true)
	chunkOf(t, b, of, []int{}, []int{2}, nil)
	marked(0)

	// What Redis has lost is done again, but for as long as nobody can know of it.
	if err := s.Client.Del(t.Context(), f.prefix+":reopening:{t}").Err(); err != nil {
		t.Fatal(err)
	}
	if got := chunkOf(t, b, of, []int{}, []int{2}, nil); got == "" || got == basis {
		t.Errorf("it rests on %q after %q", got, basis)
	}
	marked(1)
	masters, err := b.store.Masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := b.store.IncarnationKeys(t.Context(), masters)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{b.store.Keys.Ticket(store.ID(of[1], "t")), slices.Max(keys)} {
		if err := s.Client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
	basis = chunkOf(t, b, of, []int{}, []int{2}, nil)
	look(t, b)
	if got := chunkOf(t, b, of, []int{1}, []int{2}, nil); got == basis {
		t.Error("it rests on what Redis had")
	}
}

// TestAFailoverAndBackIsSeen: the first master is one again, as the same run of its server, and has what the other one had. What a run has
// seen of a list before does not hold.
func TestAFailoverAndBackIsSeen(t *testing.T) {
	t.Parallel()
	f, first, second := pair(t)
	e, of := f.frozen("a"), []store.Asset{"there-and-back"}
	look(t, e)
	chunkOf(t, e, of, []int{0}, nil, nil) // the marks have their epoch
	follow := func(c *redis.Client, host, port string) {
		t.Helper()
		if err := c.ReplicaOf(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := first.Client(), second.Client()
	defer a.Close()
	defer b.Close()
	await(t, "the epoch at the replica", func() bool { return b.Exists(t.Context(), e.store.Keys.Marks("t")).Val() == 1 })
	follow(b, "NO", "ONE")
	c, _ := claimed(t, e, string(of[0]), "t")
	if _, err := step(t, e, c, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(t.Context(), c.ID, agent, "offline"); err != nil {
		t.Fatal(err)
	}
	basis := chunkOf(t, e, of, []int{}, nil, nil)
	host, port, _ := strings.Cut(second.Addr(), ":")
	follow(a, host, port)
	await(t, "the data of the other master", func() bool { return a.Exists(t.Context(), e.store.Keys.Ticket(c.Ticket)).Val() == 0 })
	follow(a, "NO", "ONE")
	look(t, e)
	if got := chunkOf(t, e, of, []int{0}, nil, nil); got == basis || got == "" {
		t.Errorf("it rests on %q, as before", got)
	}
}

// TestAChunkOfHighRisks: who is passed over is still told to be at high risk.
func TestAChunkOfHighRisks(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("a")
	look(t, e)
	of := []store.Asset{"risk-0", "risk-1"}
	for i, a := range of {
		c, _ := claimed(t, e, string(a), "t")
		advance(t, e, c, store.VulnCheckDone)
		if _, err := step(t, e, c, "assess", store.Finished, fmt.Sprintf(`{"high_risk": %v}`, i == 1)); err != nil {
			t.Fatal(err)
		}
		letGo(t, e, a)
	}
	for range 2 {
		chunkOf(t, e, of, []int{}, nil, []int{1})
	}
}
