// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
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
	hangs := cluster.Servers[0]
	there := assetsOn(cluster, e, 2, hangs)
	elsewhere := assetsOn(cluster, e, 6, cluster.Servers[1:]...)
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

// assetsOn are so many assets whose keys are on one of these masters.
func assetsOn(cluster *redistest.Cluster, e *Engine, n int, masters ...*redistest.Server) (assets []string) {
	for i := 0; len(assets) < n; i++ {
		asset := fmt.Sprint("hang-", i)
		if slices.Contains(masters, cluster.Server(e.store.Keys.Lock(store.Asset(asset)))) {
			assets = append(assets, asset)
		}
	}
	return assets
}

// hostOver is a hurried host with a client of its own.
func hostOver(t *testing.T, cluster *redistest.Cluster, name string) *Engine {
	over := clientFor(2*time.Second, cluster.Addrs()...)
	t.Cleanup(func() { _ = over.Close() })
	return (&fleet{t, over, "picket"}).hurried(name)
}

// TestG9_F32_ANodeThatHangsDelaysOnlyItsOwnNotifications: those on the others are accepted, and delivered by their owner, and by another
// host when the owner is gone. What was accepted on the node that hangs follows when that goes on.
func TestG9_F32_ANodeThatHangsDelaysOnlyItsOwnNotifications(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-node-timeout", "300000")
	a, b := hostOver(t, cluster, "host-a"), hostOver(t, cluster, "host-b")
	signs := slices.Index(cluster.Servers, cluster.Server(a.store.Keys.Signs())) // while that one hangs, nobody is taken over from
	hangs, others := cluster.Servers[(signs+1)%3], []*redistest.Server{cluster.Servers[signs], cluster.Servers[(signs+2)%3]}
	there := assetsOn(cluster, a, 1, hangs)[0]
	var elsewhere []string
	for _, master := range others {
		elsewhere = append(elsewhere, assetsOn(cluster, a, 2, master)...)
	}
	intents := map[string]string{}
	accepted := func(asset string) {
		k, _ := claimed(t, a, asset, "t")
		intents[asset] = notified(t, a, k, "ops")
	}
	accepted(there)
	eventually(t, "host-b may judge", b.lookout.Steady)
	hangs.Freeze()
	for i, asset := range elsewhere {
		accepted(asset)
		if i%2 == 0 {
			deliver(t, a, store.ID(store.Asset(asset), "t"), "ops", outbox.Sent, outbox.Go)
		}
	}
	_ = a.Stop(t.Context())
	takenOver := func(asset string) {
		id := store.ID(store.Asset(asset), "t")
		eventually(t, "host-b has "+asset, func() bool { return has(b, id, intents[asset]) })
		deliver(t, b, id, "ops", outbox.Sent, outbox.Go)
	}
	takenOver(elsewhere[1])
	takenOver(elsewhere[3])
	hangs.Thaw()
	takenOver(there)
}

// TestG9_F32_WhileTheNodeOfTheSignsHangsNobodyTakesOver: nobody can tell who lives. Afterwards it is made up for.
func TestG9_F32_WhileTheNodeOfTheSignsHangsNobodyTakesOver(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-node-timeout", "300000")
	a, b := hostOver(t, cluster, "host-a"), hostOver(t, cluster, "host-b")
	signs := cluster.Server(a.store.Keys.Signs())
	others := slices.DeleteFunc(slices.Clone(cluster.Servers), func(s *redistest.Server) bool { return s == signs })
	asset := assetsOn(cluster, a, 1, others...)[0]
	k, _ := claimed(t, a, asset, "t")
	intent := notified(t, a, k, "ops")
	eventually(t, "host-b may judge", b.lookout.Steady)
	signs.Freeze()
	_ = a.Stop(t.Context())
	eventually(t, "host-b may not judge any more", func() bool { return !b.lookout.Steady() })
	time.Sleep(hurry.Life + 3*hurry.Every)
	if has(b, k.Ticket, intent) {
		t.Error("host-b took over from one whose signs it could not read")
	}
	signs.Thaw()
	eventually(t, "host-b has it", func() bool { return has(b, k.Ticket, intent) })
	deliver(t, b, k.Ticket, "ops", outbox.Sent, outbox.Go)
}

// TestF32_ANotificationWhoseHintIsOnANodeThatHangsIsRefused: a set of hints was moved away from the assets that it is about. Everything else
// on them goes on, and those whose hints are at home are told.
func TestF32_ANotificationWhoseHintIsOnANodeThatHangsIsRefused(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000")
	over := clientFor(2*time.Second, cluster.Addrs()...)
	t.Cleanup(func() { _ = over.Close() })
	e := (&fleet{t, over, "picket"}).frozen("host-a")
	home := cluster.Servers[0]
	assets := assetsOn(cluster, e, 20, home)
	parted := hintsOf(e, e.daemon.ID, store.Asset(assets[0]))
	at := slices.IndexFunc(assets, func(a string) bool { return hintsOf(e, e.daemon.ID, store.Asset(a)) != parted })
	reshard(t, cluster, parted, func() {})
	refused, _ := claimed(t, e, assets[0], "t")
	k, _ := claimed(t, e, assets[at], "t")
	cluster.Servers[1].Freeze() // where it is now
	defer cluster.Servers[1].Thaw()
	advance(t, e, refused, store.HighRiskFound)
	tell := func() error {
		_, err := e.Notify(t.Context(), refused.ID, agent, delivery.Request{Title: "x", Severity: "low"})
		return err
	}
	wantErr(t, within(t, callTime, "the notification", tell), store.ErrUnavailable)
	notified(t, e, k, "ops")
	cluster.Servers[1].Thaw()
	if err := tell(); err != nil {
		t.Errorf("when the node goes on: %v", err)
	}
}
