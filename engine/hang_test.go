// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// TestF32_ANodeThatHangsDelaysNoOther: one master of a Cluster stands still without closing a connection, and a hundred calls wait for it.
// Calls on assets of the others are answered meanwhile, and their claims are renewed; those on it end in time, and its claims at their
// deadline.
func TestF32_ANodeThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000")
	over, urgent, kept := clientFor(2*time.Second, cluster.Addrs()...), clientFor(2*time.Second, cluster.Addrs()...), clientFor(3*time.Second, cluster.Addrs()...)
	for _, c := range []interface{ Close() error }{over, urgent, kept} {
		defer c.Close()
	}
	e := (&fleet{t, over, "picket"}).host("host-a", func(c *Config) { short(c); waitingFor(kept, c); c.Urgent = urgent })
	hangs := cluster.Servers[0] // not the one with this host's hints, without which no notification is accepted here
	if cluster.Server(e.store.Keys.Undelivered(e.daemon.ID)) == hangs {
		hangs = cluster.Servers[1]
	}
	on := func(node bool, n int) []string { // so many assets that are on it, or not
		var assets []string
		for i := 0; len(assets) < n; i++ {
			asset := fmt.Sprintf("hang-%d", i)
			if (cluster.Server(e.store.Keys.Lock(store.Asset(asset))) == hangs) == node {
				assets = append(assets, asset)
			}
		}
		return assets
	}
	there, elsewhere := on(true, 2), on(false, 6)
	lost := granted(t, e, there[0], "t")
	var held []*Claim
	for _, asset := range elsewhere[:3] {
		held = append(held, granted(t, e, asset, "t"))
	}
	hangs.Freeze()
	var waiting sync.WaitGroup
	for range 50 {
		waiting.Go(func() {
			_, err := e.Claim(t.Context(), ask(there[1], "t"))
			wantErr(t, err, store.ErrUnavailable)
		})
		waiting.Go(func() { _, _ = step(t, e, lost, "online", store.AssetOnline, "") })
	}
	for _, asset := range elsewhere[3:] {
		k := granted(t, e, asset, "t")
		advance(t, e, k, store.HighRiskFound)
		eventually(t, "it is accepted", func() bool {
			_, err := e.Notify(t.Context(), k.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err == nil
		})
		deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
		if _, err := e.Finish(t.Context(), k.ID, agent, ""); err != nil {
			t.Error(err)
		}
	}
	waiting.Wait()
	v, err := e.GetClaim(lost.ID, agent)
	for v.Status == Held && err == nil {
		v, err = e.WatchClaim(t.Context(), lost.ID, agent, shortTTL)
	}
	if err != nil || v.Reason != ReasonExpired {
		t.Errorf("the claim on the node that hangs is %+v, %v", v, err)
	}
	for _, k := range held {
		if v, err := e.Heartbeat(t.Context(), k.ID, agent); err != nil || v.Status != Held {
			t.Errorf("the claim on %s is %+v, %v", k.Ticket, v, err)
		}
	}
	hangs.Thaw()
}
