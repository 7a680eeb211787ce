// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestG9_HostsMoveBehindSentinelsOneAfterTheOther, and back to one server, by the steps of docs/redis.md. All the while each of three hosts
// holds a claim, and all accept notifications, which the receiver takes only at the end.
func TestG9_HostsMoveBehindSentinelsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	server, r := redistest.Start(t), newReceiver(t)
	r.answers(func(string, int) int { return http.StatusServiceUnavailable })
	var hosts []*crashHost
	var told []string
	held := map[*crashHost]client.Claim{}
	tell := func() {
		t.Helper()
		for _, h := range hosts {
			asset := fmt.Sprintf("told-%d", len(told))
			h.toldOf(t, asset, "first")
			told = append(told, asset)
		}
	}
	for i := range 3 {
		h := newCrashHost(t, fmt.Sprintf("host-%d", i), server, r, ops)
		h.config.Redis.Addrs, h.config.Lock.TTL = []string{server.Addr()}, Duration(10*time.Minute)
		h.start(t, "")
		got, err := h.client.Claim(t.Context(), client.ClaimRequest{Asset: fmt.Sprintf("held-%d", i), Task: theTask, Heartbeat: "30m"})
		if err != nil || got.Claim == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		hosts, held[h] = append(hosts, h), *got.Claim
	}
	tell()

	replica := redistest.StartReplica(t, server)
	for _, s := range []*redistest.Server{server, replica} {
		if err := s.Client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
			t.Fatal(err)
		}
	}
	set := redistest.WatchStill(t, server, replica)
	set.More(t, 2)
	for _, h := range hosts {
		h.stop(t)
		h.config.Redis.Mode, h.config.Redis.Master, h.config.Redis.Addrs = Sentinel, set.MasterName, set.Addrs()
		h.start(t, "")
		tell()
	}
	master := server.Client().Conn() // a connection is answered for what it wrote itself
	defer master.Close()
	eventually(t, "the replica has it all", func() bool {
		return master.Set(t.Context(), "picket:probe", 1, 0).Err() == nil && master.Wait(t.Context(), 1, time.Second).Val() == 1
	})
	set.Failover()
	eventually(t, "the old master is in step behind the new one", func() bool {
		return replica.Client().Set(t.Context(), "picket:probe", 1, 0).Err() == nil // it wants one replica
	})
	for _, h := range hosts {
		eventually(t, "a host goes on with the new master", func() bool {
			_, err := h.client.Step(t.Context(), held[h].ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline})
			if err != nil {
				wantCode(t, err, client.StoreUnavailable)
			}
			return err == nil
		})
	}
	tell()

	for _, s := range append(set.Others, set.Sentinel) {
		c := redis.NewSentinelClient(s.Options())
		if err := c.Set(t.Context(), set.MasterName, "down-after-milliseconds", "3600000").Err(); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	for _, h := range hosts {
		h.stop(t)
		h.redis = replica.Client()
		h.config.Redis.Mode, h.config.Redis.Master, h.config.Redis.Addrs = Standalone, "", []string{replica.Addr()}
		h.start(t, "")
		tell()
	}
	for _, s := range append(set.Others, set.Sentinel) {
		s.Kill()
	}
	tell()
	r.answers(nil)
	for _, asset := range told {
		delivered(t, hosts[0].client, asset)
		if r.under(`"`+asset+"/"+theTask+`"`) == 0 {
			t.Errorf("the receiver has got nothing of %s", asset)
		}
	}
	for _, h := range hosts {
		h.wantHeld(t, held[h])
		_, err := h.client.Step(t.Context(), held[h].ID, client.StepRequest{Step: client.StepVuln, State: client.StateVulnCheckDone})
		if err != nil {
			t.Errorf("the claim does not live on: %v", err)
		}
	}
}
