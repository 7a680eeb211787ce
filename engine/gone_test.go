// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// TestF16_F32_AMasterThatIsGone without a replica: with cluster-require-full-coverage no its assets alone are refused, else all of them as
// soon as the others notice.
func TestF16_F32_AMasterThatIsGone(t *testing.T) {
	t.Parallel()
	for coverage, others := range map[string]string{"no": "", "yes": "CLUSTERDOWN"} {
		t.Run("full coverage "+coverage, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, "--cluster-node-timeout", "3000", "--cluster-require-full-coverage", coverage)
			over := closing(t, clientFor(time.Second, cluster.Addrs()...))
			e := (&fleet{t, over, "picket"}).frozen("host-a", func(c *Config) { c.TTL = 10 * time.Minute })
			there, elsewhere := assetsOn(cluster, e, 1, cluster.Servers[0])[0], assetsOn(cluster, e, 2, cluster.Servers[1:]...)
			k, _ := claimed(t, e, there, "t")
			kept, _ := claimed(t, e, elsewhere[0], "t")
			cluster.Servers[0].Kill()
			for _, s := range cluster.Servers[1:] {
				r := s.Client()
				eventually(t, "the others notice", func() bool { return strings.Contains(r.ClusterInfo(t.Context()).Val(), "cluster_slots_fail:5461") })
			}
			_, err := step(t, e, k, "online", store.AssetOnline, "")
			wantErr(t, err, store.ErrUnavailable)
			_, stepped := step(t, e, kept, "online", store.AssetOnline, "")
			_, granted := e.Claim(t.Context(), ask(elsewhere[1], "t"))
			for what, err := range map[string]error{"a step": stepped, "a claim": granted} {
				if others == "" && err != nil || others != "" && (err == nil || !strings.Contains(err.Error(), others)) {
					t.Errorf("%s on another master: %v", what, err)
				}
			}
		})
	}
}

// TestRedisDefaultsAreTooSlowForAClaim: a Sentinel waits for 30 s, a Cluster for 15 s, before a replica takes over; a claim with the default
// TTL is lost before. It takes a minute, and runs when all kinds of Redis do.
func TestRedisDefaultsAreTooSlowForAClaim(t *testing.T) {
	if os.Getenv(redistest.Switch) != "all" {
		t.Skip("only with " + redistest.Switch + "=all")
	}
	t.Parallel()
	for kind, start := range map[string]func(t *testing.T) *own{
		"sentinel": func(t *testing.T) *own {
			o := &own{t: t, set: redistest.StartSlowSentinel(t, 30*time.Second)}
			o.masters, o.replicas = []*redistest.Server{o.set.Master}, []*redistest.Server{o.set.Replica}
			o.options.Addrs, o.options.MasterName = o.set.Addrs(), o.set.MasterName
			return o
		},
		"cluster": func(t *testing.T) *own {
			o := &own{t: t, cluster: redistest.StartReplicatedCluster(t)}
			o.masters, o.replicas, o.options.Addrs = o.cluster.Servers, o.cluster.Replicas, o.cluster.Addrs()
			return o
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := start(t)
			o.options.ContextTimeoutEnabled, o.options.MaxRetries, o.options.DialerRetries, o.options.DisableIdentity = true, -1, 1, true
			e := (&fleet{t, o.connect(time.Second), "picket"}).host("host-a", func(c *Config) { c.TTL = 15 * time.Second })
			c, _ := claimed(t, e, "slow", "t")
			o.caughtUp(e, "slow")
			o.masters[o.at(o.beside(e, "slow"))].Kill()
			v, err := e.GetClaim(c.ID, agent)
			for v.Status == Held && err == nil {
				v, err = e.WatchClaim(t.Context(), c.ID, agent, shortTTL)
			}
			if err != nil || v.Reason != ReasonExpired {
				t.Errorf("got %+v, %v", v, err)
			}
			o.takesWrites(e, "slow")
			if next, _ := claimed(t, e, "slow", "t"); next.Token <= c.Token {
				t.Errorf("after token %d comes %d", c.Token, next.Token)
			}
		})
	}
}
