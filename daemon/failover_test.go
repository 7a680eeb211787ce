// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestG9_ADaemonGoesOnWithTheReplica: a whole daemon, as the least user, whose master is killed while a claim is held. The claim lives on,
// and what is told is delivered.
func TestG9_ADaemonGoesOnWithTheReplica(t *testing.T) {
	t.Parallel()
	const key = "picket:{" + theAsset + "}:probe"
	t.Cleanup(func() { // a pool notices within a second that it is closed
		eventually(t, "go-redis dials no master that was killed", func() bool {
			stacks := make([]byte, 1<<22)
			return !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("tryDial"))
		})
	})
	for _, mode := range []string{Sentinel, Cluster} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t)
			redis := RedisConfig{
				Mode: mode, Username: redistest.LeastUser, PasswordFile: write(t, "password", redistest.LeastPassword), Prefix: "picket",
				WaitElse: DefaultConfig().Redis.WaitElse, WaitTimeout: DefaultConfig().Redis.WaitTimeout,
			}
			var master *redistest.Server
			var lose func()
			if mode == Sentinel {
				set := redistest.StartStillSentinel(t, redistest.Least(t)...)
				master, redis.Addrs, redis.Master = set.Master, set.Addrs(), set.MasterName
				lose = func() { set.Master.Kill(); set.Failover() }
			} else {
				cluster := redistest.StartReplicatedCluster(t, redistest.Least(t)...)
				master, redis.Addrs = cluster.Server(key), cluster.Addrs()
				lose = func() { cluster.TakeOver(key) }
			}
			h := setup(t, func(c *Config) {
				c.Redis, c.Lock.TTL = redis, Duration(2*time.Minute)
				deliverTo(c, r, ops)
			})
			h.start(t)
			eventually(t, "it is ready", func() bool { return h.check(t, "settings") == "" })
			claim := mustRisk(t, h.client)
			wrote := master.Client().Conn() // a connection is answered for what it wrote itself
			defer wrote.Close()
			if err := wrote.Set(t.Context(), key, 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the replica has it all", func() bool { return wrote.Wait(t.Context(), 1, time.Second).Val() == 1 })
			lose()
			eventually(t, "it is told", func() bool {
				_, err := h.client.Notify(t.Context(), claim, tell("first"), 0)
				if err != nil {
					wantCode(t, err, client.StoreUnavailable)
				}
				return err == nil
			})
			delivered(t, h.client, theAsset)
			h.emptied(t)
			if one := r.requests(); len(one) == 0 {
				t.Error("the receiver has got nothing")
			}
			if got, err := h.client.GetClaim(t.Context(), claim); err != nil || got.Status != client.StatusHeld {
				t.Errorf("the claim is %+v, %v", got, err)
			}
			if warnings := h.Warnings(); len(warnings) != 1 { // that Redis writes nothing to disk
				t.Errorf("it warns of %+v", warnings)
			}
		})
	}
}
