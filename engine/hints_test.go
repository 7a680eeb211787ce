// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// TestG9_OneTicketThatCannotBeReadStopsNoOther: neither the round that asks what was decided, nor the take-over from a dead daemon, nor
// the sweep of the own hints, nor the walk.
func TestG9_OneTicketThatCannotBeReadStopsNoOther(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	intents := map[string]string{}
	assets := []string{"bad", "good 1", "good 2"}
	for _, asset := range assets { // the bad one's hint is the oldest
		c, _ := claimed(t, a, asset, "t")
		intents[asset] = notified(t, a, c, "ops")
		if time.Sleep(2 * time.Millisecond); asset == "bad" {
			fill(t, a, 100) // so that the others are in another question
		}
	}
	bad := store.ID("bad", "t")
	key := a.store.Keys.Ticket(bad)
	if err := a.config.Redis.Set(t.Context(), key, "not a ticket", 0).Err(); err != nil {
		t.Fatal(err)
	}
	b.config.Redis.ZAdd(t.Context(), hintsOf(b, a.daemon.ID, bad.Asset), redis.Z{Member: "no ticket"})

	decided, _ := claimed(t, a, "decided", "t")
	ref := outbox.Ref{Ticket: decided.Ticket.String(), ID: notified(t, a, decided, "ops")}
	if _, err := b.Discard(t.Context(), delivery.Resolution{Ticket: decided.Ticket, By: "1/0", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.courier.Heed(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "1 of the tickets, the first is bad/t") {
		t.Errorf("it says %v", err)
	}
	if in, err := a.config.Outbox.Get(ref); err != nil || in.Origin != outbox.Closed {
		t.Errorf("what was decided elsewhere is still %s here, %v", in.Origin, err)
	}

	if err := b.courier.LookAfter(t.Context(), store.Silent{ID: a.daemon.ID}); err == nil || !strings.Contains(err.Error(), "2 of the tickets, the first is") {
		t.Errorf("it says %v", err)
	}
	for _, asset := range assets[1:] {
		if !has(b, store.ID(store.Asset(asset), "t"), intents[asset]) {
			t.Errorf("%s was not taken over", asset)
		}
	}

	b.config.Redis.ZAdd(t.Context(), hintsOf(b, b.daemon.ID, bad.Asset), redis.Z{Member: bad.String()})
	good := store.ID("good 1", "t")
	if err := b.config.Outbox.Shut(outbox.Ref{Ticket: good.String(), ID: intents["good 1"]}); err != nil {
		t.Fatal(err)
	}
	if err := b.courier.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "bad/t") {
		t.Errorf("it says %v", err)
	}
	if !has(b, good, intents["good 1"]) {
		t.Error("what stands in NOTIFYING was not adopted again")
	}

	for _, asset := range assets {
		b.config.Redis.Del(t.Context(), hintsOf(b, b.daemon.ID, store.Asset(asset)))
	}
	if err := b.courier.Walk(t.Context()); err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("it says %v", err)
	}
	for _, asset := range assets[1:] {
		if id := store.ID(store.Asset(asset), "t"); !hinted(t, b, b.config.Outbox.ID(), id) {
			t.Errorf("the hint of %s was not put back", id)
		}
	}
}

// fill puts so many intents into an outbox of which Redis lost the tickets.
func fill(t *testing.T, e *Engine, n int) {
	t.Helper()
	var g errgroup.Group
	for i := range n {
		id := store.ID(store.Asset(fmt.Sprint("lost ", i)), "t")
		g.Go(func() error {
			return e.config.Outbox.Adopt(outbox.Intent{
				Ref: outbox.Ref{Ticket: id.String(), ID: fmt.Sprint("lost ", i)}, Asset: string(id.Asset), Task: "t", Run: 1, At: time.Now(),
				Channels: map[string]outbox.Delivery{"ops": {Type: "webhook", Status: outbox.Pending, Due: time.Now()}},
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestG9_WithoutItsHintNothingIsAccepted: another daemon would not find the ticket, should this one die for good right after it.
func TestG9_WithoutItsHintNothingIsAccepted(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	retried, _ := claimed(t, e, "retried", "t")
	notified(t, e, retried, "ops")
	deliver(t, e, retried.Ticket, "ops", outbox.Dead, outbox.Go)
	told, _ := claimed(t, e, "told", "t")
	advance(t, e, told, store.HighRiskFound)
	for _, asset := range []store.Asset{"retried", "told"} {
		key := hintsOf(e, e.daemon.ID, asset)
		if err := errors.Join(f.client.Del(t.Context(), key).Err(), f.client.Set(t.Context(), key, "takes no hint", 0).Err()); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []struct {
		id   store.TicketID
		call func() error
	}{
		{told.Ticket, func() error {
			_, err := e.Notify(t.Context(), told.ID, agent, delivery.Request{Title: "x", Severity: "critical"})
			return err
		}},
		{retried.Ticket, func() error {
			_, err := e.Retry(t.Context(), delivery.Resolution{Ticket: retried.Ticket, By: "1/0", Reason: "again"})
			return err
		}},
	} {
		before := mustTicket(t, e, call.id)
		wantErr(t, call.call(), store.ErrUnavailable)
		if after := mustTicket(t, e, call.id); after.Revision != before.Revision {
			t.Errorf("%s is in %s", call.id, after.State)
		}
	}
	if staged, err := e.config.Outbox.List(outbox.Staged, 10); err != nil || len(staged) > 0 {
		t.Errorf("what came to nothing is staged: %v, %v", staged, err)
	}
}

// TestG9_WithoutItsHintNothingIsInherited: the ticket stays in the set that is looked through.
func TestG9_WithoutItsHintNothingIsInherited(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	c, _ := claimed(t, a, "a", "t")
	notified(t, a, c, "ops")
	if err := f.client.Set(t.Context(), hintsOf(b, b.daemon.ID, "a"), "takes no hint", 0).Err(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, b.courier.LookAfter(t.Context(), store.Silent{ID: a.daemon.ID}), store.ErrUnavailable)
	if owner := mustTicket(t, b, c.Ticket).Owner; owner != a.daemon.ID || !hinted(t, b, owner, c.Ticket) {
		t.Errorf("it is %s's, and that one's hint is gone", owner)
	}
}

// TestG9_WhatIsUndeliveredIsKeptForEver, and no longer than others when it is delivered.
func TestG9_WhatIsUndeliveredIsKeptForEver(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "a", "t")
	notified(t, e, c, "ops")
	expires := func(want bool) {
		t.Helper()
		for _, key := range []string{e.store.Keys.Ticket(c.Ticket), e.store.Keys.Log(c.Ticket)} {
			if left := f.client.PTTL(t.Context(), key).Val(); (left > 0) != want {
				t.Errorf("%s is kept for %s", key, left)
			}
		}
	}
	expires(false)
	deliver(t, e, c.Ticket, "ops", outbox.Sent, outbox.Go)
	expires(true)
}

// TestG9_AShardThatIsAwayDelaysNoneOfTheOthers: what is staged on the others is settled while those on it wait for an answer.
func TestG9_AShardThatIsAwayDelaysNoneOfTheOthers(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := clientFor(time.Second, cluster.Addrs()...)
	t.Cleanup(func() { _ = c.Close() })
	e := (&fleet{t, c, "picket"}).frozen("host-a")
	stage := func(asset string) outbox.Ref {
		t.Helper()
		ref := outbox.Ref{Ticket: asset + "/t", ID: "intent of " + asset}
		if err := e.config.Outbox.Stage(outbox.Intent{Ref: ref, Asset: asset, Task: "t", Run: 1, Nonce: "gone", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	node := func(asset string) *redistest.Server {
		return cluster.Server(e.store.Keys.Ticket(store.ID(store.Asset(asset), "t")))
	}
	dead, other := node("0"), ""
	for i, staged := 0, 0; staged < 40 || other == ""; i++ {
		if asset := fmt.Sprint(i); node(asset) != dead {
			other = asset
		} else if staged < 40 {
			stage(asset)
			staged++
		}
	}
	last := stage(other)
	dead.Freeze()
	defer dead.Thaw()
	done := make(chan error, 1)
	go func() { done <- e.courier.FollowStaged(t.Context()) }()
	eventually(t, "what is staged on another node is settled", func() bool {
		_, err := e.config.Outbox.Get(last)
		return err != nil
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if staged, err := e.config.Outbox.List(outbox.Staged, 100); err != nil || len(staged) != 40 {
		t.Errorf("%d are left of those on the node that is away, %v", len(staged), err)
	}
}
