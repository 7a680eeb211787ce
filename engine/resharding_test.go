// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// reshard moves an asset's slot to another master, key by key as redis-cli does, and calls halfway when some of its keys are here and some
// there.
func reshard(t *testing.T, c *redistest.Cluster, key string, halfway func()) {
	t.Helper()
	from := c.Server(key)
	to := c.Servers[(slices.Index(c.Servers, from)+1)%len(c.Servers)]
	source, target := from.Client(), to.Client()
	slot := source.ClusterKeySlot(t.Context(), key).Val()
	set(t, target, "cluster", "setslot", slot, "importing", source.ClusterMyID(t.Context()).Val())
	set(t, source, "cluster", "setslot", slot, "migrating", target.ClusterMyID(t.Context()).Val())
	host, port, _ := strings.Cut(to.Addr(), ":")
	for moved := 0; ; moved++ {
		keys := source.ClusterGetKeysInSlot(t.Context(), int(slot), 1).Val()
		if len(keys) == 0 {
			break
		}
		set(t, source, "migrate", host, port, keys[0], 0, 60_000)
		if moved == 1 {
			halfway()
		}
	}
	for _, r := range []*redis.Client{target, source} {
		set(t, r, "cluster", "setslot", slot, "node", target.ClusterMyID(t.Context()).Val())
	}
}

// TestASlotThatMoves with a live claim, one who waits for it, and a notification in flight: TRYAGAIN, ASK and MOVED are seen by nobody.
func TestASlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartReplicatedCluster(t)
	f := func() *fleet {
		c := client(cluster.Addrs()...)
		t.Cleanup(func() { _ = c.Close() })
		return &fleet{t, c, "picket"}
	}
	waits := func(f *fleet) func(*Config) {
		return func(c *Config) { short(c); waitingFor(f.client, c) }
	}
	fa, fb := f(), f()
	a, b := fa.host("host-a", waits(fa)), fb.host("host-b", waits(fb))
	k := granted(t, a, "moves", "t")
	advance(t, a, k, store.HighRiskFound)
	var told WriteResult
	eventually(t, "it is accepted", func() bool {
		var err error
		told, err = a.Notify(t.Context(), k.ID, agent, delivery.Request{Title: "x", Severity: "critical", Channels: []string{"ops", "pager"}})
		if err != nil {
			wantErr(t, err, store.ErrReplicasMissing)
		}
		return err == nil
	})
	verdict(t, a, attempt(a, k.Ticket, told.Ticket.Intent, "ops", 1), outbox.Go)
	next := make(chan *Claim, 1)
	go func() {
		for {
			r, err := b.Claim(t.Context(), waitFor("moves", "next"))
			if errors.Is(err, store.ErrReplicasMissing) {
				continue
			}
			if err != nil {
				t.Errorf("who waited got %v", err)
			}
			next <- r.Claim
			return
		}
	}()
	during := make(chan error, 3)
	reshard(t, cluster, a.store.Keys.Lock("moves"), func() {
		go func() {
			_, err := a.Outcome(t.Context(), outcome(k.Ticket, told.Ticket.Intent, "ops", 1, outbox.Sent))
			during <- err
		}()
		go func() {
			_, err := a.Attempt(t.Context(), attempt(a, k.Ticket, told.Ticket.Intent, "pager", 1))
			during <- err
		}()
		go func() {
			_, err := a.Fail(t.Context(), k.ID, agent, FailureRequest{Step: "notify", Error: "x"})
			during <- err
		}()
		time.Sleep(time.Second)
	})
	for range cap(during) {
		if err := <-during; err != nil {
			t.Errorf("a call while the slot moved: %v", err)
		}
	}
	if d := ticketOf(t, a, k.Ticket).Delivery["ops"]; d.Status != outbox.Sent {
		t.Errorf("the outcome is %+v", d)
	}
	time.Sleep(shortTTL) // renewals go to the new node
	if v, err := a.Heartbeat(t.Context(), k.ID, agent); err != nil || v.Status != Held {
		t.Errorf("the claim is %+v, %v", v, err)
	}
	if _, err := a.Finish(t.Context(), k.ID, agent, ""); err != nil {
		t.Error(err)
	}
	if n := <-next; n == nil || n.Token <= k.Token {
		t.Errorf("who waited has %+v", n)
	}
}

// TestASlotThatMovesForLongCostsNoClaim: for as long as it moves, calls on its assets say so in time, and locks are renewed. Afterwards all
// goes on. Calls on other assets do not wait.
func TestASlotThatMovesForLongCostsNoClaim(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000")
	over := client(cluster.Addrs()...)
	t.Cleanup(func() { _ = over.Close() })
	e := (&fleet{t, over, "picket"}).host("host-a", short)
	k, _ := claimed(t, e, "moves", "t")
	intent := notified(t, e, k, "ops")
	reshard(t, cluster, e.store.Keys.Lock("moves"), func() {
		end := time.Now().Add(shortTTL + time.Second)
		for what, call := range map[string]func() error{
			"attempt": func() error { _, err := e.Attempt(t.Context(), attempt(e, k.Ticket, intent, "ops", 1)); return err },
			"failure": func() error {
				_, err := e.Fail(t.Context(), k.ID, agent, FailureRequest{Step: "notify", Error: "x"})
				return err
			},
		} {
			err := within(t, callTime, what, call)
			wantErr(t, err, store.ErrUnavailable)
			if err != nil && !strings.Contains(err.Error(), "slot is moving") {
				t.Errorf("%s says %v", what, err)
			}
		}
		other, _ := claimed(t, e, "stays", "t")
		advance(t, e, other, store.HighRiskFound)
		time.Sleep(time.Until(end))
	})
	if v, err := e.Heartbeat(t.Context(), k.ID, agent); err != nil || v.Status != Held {
		t.Errorf("the claim is %+v, %v", v, err)
	}
	deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
	if _, err := e.Finish(t.Context(), k.ID, agent, ""); err != nil {
		t.Error(err)
	}
	if s := ticketOf(t, e, k.Ticket); s.State != store.Finished || s.Delivery["ops"].Attempts != 1 {
		t.Errorf("the ticket is %+v", s)
	}
}

// TestAGrantWaitsForReplicasOfItsNode: on a Cluster those of another master say nothing, and a node that moved the slot away is not waited on.
func TestAGrantWaitsForReplicasOfItsNode(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000")
	over := client(cluster.Addrs()...)
	t.Cleanup(func() { _ = over.Close() })
	e := (&fleet{t, over, "picket"}).host("host-a", func(c *Config) { waitingFor(over, c) })
	k := granted(t, e, "mine", "t")
	if err := e.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	mine := slices.Index(cluster.Servers, cluster.Server(e.store.Keys.Lock("mine")))
	other := (mine + 1) % len(cluster.Servers)
	cluster.Replicas[other].Freeze()
	k = granted(t, e, "mine", "t")
	if err := e.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	reshard(t, cluster, e.store.Keys.Lock("mine"), func() {})
	_, err := e.Claim(t.Context(), ask("mine", "t"))
	wantErr(t, err, store.ErrReplicasMissing)
	cluster.Replicas[other].Thaw()
	granted(t, e, "mine", "t")
}
