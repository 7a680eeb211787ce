// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// keyOf is a key of a shard.
func keyOf(t *testing.T, s *Stage, shard int) string {
	t.Helper()
	for i := 0; ; i++ {
		key := fmt.Sprint("key-", i)
		if len(s.Nodes) < 2*clusterShards {
			return key
		}
		slot, err := s.Nodes[0].ask(t.Context(), "CLUSTER", "KEYSLOT", key).Int()
		if err != nil {
			t.Fatal(err)
		}
		if slot*clusterShards/clusterSlots == shard {
			return key
		}
	}
}

// write adds to a key of a shard, wherever it is served, until the end, and says how often that was confirmed.
func write(ctx context.Context, s *Stage, shard int, key string, stay *Node) (confirmed int) {
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		master := stay
		if stay == nil {
			master = s.Master(ctx, shard)
		}
		if master == nil {
			continue
		}
		if _, err := master.Do(ctx, "INCR", key); err == nil {
			confirmed++
		}
	}
	return confirmed
}

func TestAPlannedFailoverLosesNothing(t *testing.T) {
	for _, topology := range stages[1:] {
		t.Run(topology, func(t *testing.T) {
			s, _ := setup(t, topology, calm)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			masters, keys, confirmed := []*Node{}, []string{}, make([]chan int, s.Shards())
			writing, stop := context.WithCancel(ctx)
			defer stop()
			for shard := range s.Shards() {
				key := keyOf(t, s, shard)
				masters, keys, confirmed[shard] = append(masters, s.Master(ctx, shard)), append(keys, key), make(chan int, 1)
				go func() { confirmed[shard] <- write(writing, s, shard, key, nil) }()
			}
			if err := s.Failover(ctx); err != nil {
				t.Error(err)
			}
			if err := s.Mend(ctx); err != nil {
				t.Fatal(err)
			}
			stop()
			changed := 0
			for shard, was := range masters {
				master := s.Master(ctx, shard)
				if master != was {
					changed++
				}
				sum, err := master.ask(ctx, "GET", keys[shard]).Int()
				if n := <-confirmed[shard]; err != nil || sum < n || n == 0 {
					t.Errorf("shard %d: of %d confirmed writes %d are there, %v", shard, n, sum, err)
				}
			}
			if changed != 1 {
				t.Errorf("%d masters have changed", changed)
			}
		})
	}
}

func TestConfirmedWritesAreLost(t *testing.T) {
	for _, topology := range stages[1:] {
		t.Run(topology, func(t *testing.T) {
			s, _ := setup(t, topology, 0)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			for _, way := range []way{s.isolate, s.killBehind} {
				keys, confirmed := []string{}, make([]chan int, s.Shards())
				writing, stop := context.WithCancel(ctx)
				for shard := range s.Shards() {
					key, master := keyOf(t, s, shard), s.Master(ctx, shard)
					keys, confirmed[shard] = append(keys, key), make(chan int, 1)
					if _, err := master.Do(ctx, "DEL", key); err != nil {
						t.Fatal(err)
					}
					go func() { confirmed[shard] <- write(writing, s, shard, key, master) }()
				}
				detail, err := s.loseWrites(ctx, way, 500*time.Millisecond)
				stop()
				if err != nil {
					t.Errorf("%s: %v", detail, err)
				}
				if err := s.Mend(ctx); err != nil {
					t.Fatal(err)
				}
				lost := 0
				for shard, key := range keys {
					sum, _ := s.Master(ctx, shard).ask(ctx, "GET", key).Int()
					lost += max(0, <-confirmed[shard]-sum)
				}
				if t.Logf("%s: %d lost", detail, lost); lost == 0 {
					t.Errorf("%s: nothing was lost", detail)
				}
			}
		})
	}
}

func TestOlderDataArePutBack(t *testing.T) {
	for _, topology := range stages {
		t.Run(topology, func(t *testing.T) {
			s, _ := setup(t, topology, calm)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			set := func(value string) {
				for shard := range s.Shards() {
					if _, err := s.Master(ctx, shard).Do(ctx, "SET", keyOf(t, s, shard), value); err != nil {
						t.Error(err)
					}
				}
			}
			old := func() (n int) {
				for shard := range s.Shards() {
					if v, _ := s.Master(ctx, shard).Do(ctx, "GET", keyOf(t, s, shard)); v != "new" {
						n++
					}
				}
				return n
			}
			set("old")
			if err := s.Restore(ctx); err == nil {
				t.Error("what was never dumped is put back")
			}
			if err := s.Dump(ctx); err != nil {
				t.Error(err)
			}
			set("new")
			for what, lose := range map[string]func(context.Context) error{"Restore": s.Restore, "FlushAll": s.FlushAll} {
				if err := lose(ctx); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if err := s.Mend(ctx); err != nil {
					t.Fatal(err)
				}
				if n := old(); n != 1 {
					t.Errorf("%s: %d of %d shards lost what was new", what, n, s.Shards())
				}
				set("new")
			}
		})
	}
}

func TestASlotMovesWithItsKeys(t *testing.T) {
	s, _ := setup(t, "cluster", calm)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	key := keyOf(t, s, 0)
	if _, err := s.Nodes[0].Do(ctx, "FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes[1:clusterShards] {
		if _, err := n.Do(ctx, "FLUSHALL"); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range s.Hosts { // they would write keys of their own
		h.Kill()
	}
	if _, err := s.Nodes[0].Do(ctx, "SET", key, "1"); err != nil {
		t.Fatal(err)
	}
	if err := s.MoveSlot(ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, n := range s.Nodes[1:clusterShards] {
		if v, _ := n.Do(ctx, "GET", key); v == "1" {
			found++
		}
	}
	if _, err := s.Nodes[0].Do(ctx, "GET", key); err == nil || found != 1 {
		t.Errorf("%d others have the key; the first: %v", found, err)
	}
}
