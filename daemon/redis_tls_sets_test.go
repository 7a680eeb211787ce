// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestTLSWithSentinelsAndOnACluster: what is told is delivered over it, and a wrong authority is said with the key that would be right.
func TestTLSWithSentinelsAndOnACluster(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{Sentinel, Cluster} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			good, other := redistest.NewTLS(t), redistest.NewTLS(t)
			redis := DefaultConfig().Redis
			redis.Mode, redis.TLS = mode, &TLSConfig{CAFile: good.CAFile, CertFile: good.CertFile, KeyFile: good.KeyFile}
			if mode == Sentinel {
				set := redistest.StartStillSentinel(t, good.Inside()...)
				redis.Addrs, redis.Master = set.Addrs(), set.MasterName
			} else {
				redis.Addrs = redistest.StartReplicatedCluster(t, append(good.Inside(), "--cluster-node-timeout", "300000")...).Addrs()
			}
			wrong := DefaultConfig()
			wrong.Redis = redis
			wrong.Redis.TLS = &TLSConfig{CAFile: other.CAFile, CertFile: good.CertFile, KeyFile: good.KeyFile}
			const says = "redis.tls.ca_file: write the authority that signed"
			for end := time.Now().Add(time.Minute); ; { // a machine that stands still lets a connection time out
				err := wrong.CheckRedis(t.Context())
				if err != nil && strings.Contains(err.Error(), says) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("of a wrong authority it says %v", err)
				}
			}
			r := newReceiver(t)
			h := setup(t, func(c *Config) {
				c.Redis = redis
				deliverTo(c, r, ops)
			})
			h.start(t)
			eventually(t, "it is ready", func() bool { return h.check(t, "settings") == "" })
			claim := mustRisk(t, h.client)
			if _, err := h.client.Notify(t.Context(), claim, tell("first"), 0); err != nil {
				t.Fatal(err)
			}
			delivered(t, h.client, theAsset)
			r.wantRequests(t, 1, "first")
		})
	}
}
