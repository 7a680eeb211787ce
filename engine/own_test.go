// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// replicated are the kinds of Redis on which a replica takes over; of those, the first is run by make test.
var replicated = []string{"sentinel", "cluster"}

// own is a Redis that a test has for itself, and may disturb. Nothing fails over by itself.
type own struct {
	t        *testing.T
	kind     string
	masters  []*redistest.Server
	replicas []*redistest.Server // the i-th copies the i-th master; a standalone server has none
	set      *redistest.Sentinel // nil on the other kinds
	cluster  *redistest.Cluster  // the same
	options  redis.UniversalOptions
}

// onOwn runs a test on a fleet on a Redis of its own, of each of these kinds that this round has.
func onOwn(t *testing.T, kinds []string, test func(*testing.T, *fleet, *own), args ...string) {
	t.Parallel()
	for _, kind := range redistest.Some(t, kinds...) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := startOwn(t, kind, args...)
			test(t, &fleet{t, o.connect(10 * time.Second), "picket"}, o)
		})
	}
}

func startOwn(t *testing.T, kind string, args ...string) *own {
	o := &own{t: t, kind: kind, options: redis.UniversalOptions{ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true}}
	switch kind {
	case "standalone":
		o.masters = []*redistest.Server{redistest.Start(t, args...)}
		o.options.Addrs, o.options.MaintNotificationsConfig = []string{o.masters[0].Addr()}, o.masters[0].Options().MaintNotificationsConfig
	case "sentinel":
		o.set = redistest.StartStillSentinel(t, args...)
		o.masters, o.replicas = []*redistest.Server{o.set.Master}, []*redistest.Server{o.set.Replica}
		o.options.Addrs, o.options.MasterName = o.set.Addrs(), o.set.MasterName
	case "cluster":
		o.cluster = redistest.StartReplicatedCluster(t, slices.Concat([]string{"--cluster-node-timeout", "300000"}, args)...)
		o.masters, o.replicas = o.cluster.Servers, o.cluster.Replicas
		o.options.Addrs, o.options.MaintNotificationsConfig = o.cluster.Addrs(), o.cluster.Options().MaintNotificationsConfig
	}
	return o
}

// connect is a client that waits for an answer so long at most.
func (o *own) connect(slow time.Duration) redis.UniversalClient {
	options := o.options
	c := connect(slow, &options)
	o.t.Cleanup(func() { _ = c.Close() })
	return c
}

// at is which of the masters has a key.
func (o *own) at(key string) int {
	if o.cluster == nil {
		return 0
	}
	return slices.Index(o.masters, o.cluster.Server(key))
}

// beside is a key of nobody's in the slot of an asset.
func (o *own) beside(e *Engine, a store.Asset) string { return e.store.Keys.Lock(a) + ":beside" }

// caughtUp waits until the replicas of an asset's master have all that it has, and no replica waits for the next second's word.
func (o *own) caughtUp(e *Engine, a store.Asset) {
	o.t.Helper()
	c := o.masters[o.at(o.beside(e, a))].Client().Conn() // a connection is answered for what it wrote itself
	defer c.Close()
	if err := c.Set(o.t.Context(), o.beside(e, a), 1, 0).Err(); err != nil {
		o.t.Fatal(err)
	}
	eventually(o.t, "the replica has it all", func() bool { return c.Wait(o.t.Context(), 1, time.Second).Val() >= 1 })
}

// detach cuts an asset's master from its replica for good: what it is written from now on is lost in a failover.
func (o *own) detach(e *Engine, a store.Asset) {
	o.t.Helper()
	i := o.at(o.beside(e, a))
	o.replicas[i].Freeze()
	set(o.t, o.masters[i].Client(), "client", "kill", "type", "replica")
}

// lose kills an asset's master, and has its replica take over with what it has.
func (o *own) lose(e *Engine, a store.Asset) {
	o.t.Helper()
	i := o.at(o.beside(e, a))
	o.masters[i].Kill()
	o.replicas[i].Thaw()
	o.promote(i)
	o.takesWrites(e, a)
}

// promote makes the i-th replica the master.
func (o *own) promote(i int) {
	o.t.Helper()
	if o.set != nil {
		o.set.Failover()
		return
	}
	r := o.replicas[i].Client()
	eventually(o.t, "the replica is a master", func() bool {
		_ = r.Do(o.t.Context(), "cluster", "failover", "takeover").Err()
		return strings.Contains(r.Info(o.t.Context(), "replication").Val(), "role:master")
	})
}

// anotherReplica gives the i-th master one more.
func (o *own) anotherReplica(i int) *redistest.Server {
	if o.cluster != nil {
		return o.cluster.AnotherReplica(i, "--cluster-node-timeout", "300000")
	}
	return redistest.StartReplica(o.t, o.masters[i])
}

// takesWrites waits until an asset's master takes writes.
func (o *own) takesWrites(e *Engine, a store.Asset) {
	o.t.Helper()
	eventually(o.t, "the master of "+string(a)+" takes writes", func() bool {
		return e.config.Redis.Set(o.t.Context(), o.beside(e, a), 1, 0).Err() == nil
	})
}
