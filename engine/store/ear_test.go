// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// listener is an ear that counts.
type listener struct {
	*Ear
	freed, ended, missed atomic.Int64
}

func listen(t *testing.T, s *Store, host string) *listener {
	t.Helper()
	l := &listener{}
	l.Ear = s.NewEar(EarConfig{
		Host: host, Freed: func(Asset) { l.freed.Add(1) }, Ended: func(Asset) { l.ended.Add(1) }, Missed: func() { l.missed.Add(1) },
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.Listen(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return l
}

func comes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestAReleaseIsDeliveredToThoseWhoWait: of many daemons one waits, and one delivery is made.
func TestAReleaseIsDeliveredToThoseWhoWait(t *testing.T) {
	t.Parallel()
	s := over(t, redistest.Start(t).Client())
	const daemons = 100
	ears := make([]*listener, daemons)
	for i := range ears {
		ears[i] = listen(t, s, fmt.Sprint("host-", i))
	}
	ears[7].Want("a")
	ears[8].Want("b")
	for _, e := range ears {
		comes(t, "all hear what is for them", func() bool { return e.missed.Load() == 1 })
	}
	comes(t, "they look when the subscription is in force", func() bool { return ears[7].freed.Load() == 1 && ears[8].freed.Load() == 1 })
	if err := s.c.Redis.Set(t.Context(), s.Keys.Lock("a"), "nonce", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	by := Writer{Token: 1, Nonce: "nonce"}
	for range 2 { // the lock is freed once
		if _, err := s.Release(t.Context(), ID("a", "t"), by, ""); err != nil {
			t.Fatal(err)
		}
	}
	comes(t, "the release is heard", func() bool { return ears[7].freed.Load() == 2 })
	ears[7].Leave("a")
	comes(t, "nobody listens any more", func() bool {
		c, lock := s.c.Redis, s.Keys.Lock("a")
		return c.PubSubShardNumSub(t.Context(), lock).Val()[lock]+c.PubSubNumSub(t.Context(), lock).Val()[lock] == 0
	})
	total := int64(0)
	for _, e := range ears {
		total += e.freed.Load()
	}
	if total != 3 { // two for subscriptions that came into force
		t.Errorf("%d deliveries, want one", total-2)
	}
}

// TestASlotThatMovesIsListenedForWhereItIs: its old master ends the subscription.
func TestASlotThatMovesIsListenedForWhereItIs(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := over(t, cluster.Client())
	e := listen(t, s, "host-a")
	lock := s.Keys.Lock("a")
	e.Want("a")
	comes(t, "it listens", func() bool { return e.freed.Load() == 1 })
	if cluster.Servers[0].Client().PubSubShardNumSub(t.Context(), lock).Err() != nil {
		t.Skip("this Redis has no shards: every master publishes")
	}
	slot := int(s.c.Redis.ClusterKeySlot(t.Context(), lock).Val())
	from := cluster.Server(lock)
	to := cluster.Servers[0]
	if to == from {
		to = cluster.Servers[1]
	}
	target := to.Client()
	id, _ := target.Do(t.Context(), "CLUSTER", "MYID").Text()
	for _, server := range []*redistest.Server{to, from} {
		if err := server.Client().Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	comes(t, "it listens at the new master, and looks", func() bool {
		n, err := target.PubSubShardNumSub(t.Context(), lock).Result()
		return err == nil && n[lock] == 1 && e.freed.Load() > 1
	})
	before := e.freed.Load()
	if n := target.SPublish(t.Context(), lock, "").Val(); n != 1 {
		t.Errorf("%d deliveries", n)
	}
	comes(t, "it hears", func() bool { return e.freed.Load() > before })
}

// TestAnEarOutlivesItsServer: while it is away nobody is asked without end, and then all is listened for again.
func TestAnEarOutlivesItsServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := redis.NewClient(server.Options())
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	e := listen(t, s, "host-a")
	comes(t, "it listens", func() bool { return e.missed.Load() == 1 })
	server.Kill()
	e.Want("a") // while nobody is there
	server.Restart()
	comes(t, "it listens again, and looks", func() bool { return e.missed.Load() == 2 && e.freed.Load() == 1 })
}
