// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// waitingFor has a host wait for one replica over a client.
func waitingFor(over redis.UniversalClient, c *Config) {
	c.Replicas = store.Replicas{Number: 1, Within: time.Second, Redis: over}
}

// pair is a fleet on a master and its replica.
func pair(t *testing.T) (f *fleet, master, replica *redistest.Server) {
	f, master = setup(t)
	return f, master, redistest.StartReplica(t, master)
}

// granted claims until the replica was fast enough.
func granted(t *testing.T, e *Engine, asset, task string) *Claim {
	t.Helper()
	var r ClaimResult
	eventually(t, asset+" is granted", func() bool {
		var err error
		if r, err = e.Claim(t.Context(), ask(asset, task)); err != nil && !errors.Is(err, store.ErrReplicasMissing) {
			t.Fatal(err)
		}
		return err == nil
	})
	return r.Claim
}

// TestAGrantWaitsForReplicas: without them there is no claim, the asset is free, and the token is not used again.
func TestAGrantWaitsForReplicas(t *testing.T) {
	t.Parallel()
	f, _, replica := pair(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { waitingFor(f.client, c); c.Audit = told.add })
	first := granted(t, e, "waited", "t")
	if err := e.Release(t.Context(), first.ID, agent); err != nil {
		t.Fatal(err)
	}
	before := len(told.moves())
	replica.Freeze()
	_, err := e.Claim(t.Context(), ask("waited", "t"))
	wantErr(t, err, store.ErrReplicasMissing)
	wantErr(t, err, store.ErrUnavailable)
	if n := f.client.Exists(t.Context(), e.store.Keys.Lock("waited")).Val(); n != 0 || len(e.Claims(0)) != 0 {
		t.Errorf("%d locks are left, held are %+v", n, e.Claims(0))
	}
	if got, want := told.moves()[before:], []string{"claimed INIT INIT", "released INIT INIT"}; !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
	burnt := f.client.HGet(t.Context(), e.store.Keys.Grant("waited"), "token").Val()
	replica.Thaw()
	if c := granted(t, e, "waited", "t"); burnt == "" || c.Token <= first.Token || burnt >= strconv.FormatInt(c.Token, 10) {
		t.Errorf("tokens are %d, %s, %d", first.Token, burnt, c.Token)
	}
}

// TestAReplayWaitsForReplicas: the mint is sent again over another connection, which wrote nothing that the replica lacks.
func TestAReplayWaitsForReplicas(t *testing.T) {
	t.Parallel()
	f, master, replica := pair(t)
	proxy := redistest.Proxy(t, master.Addr())
	over := client(proxy.Addr())
	defer over.Close()
	e := f.host("host-a", func(c *Config) { waitingFor(over, c) })
	granted(t, e, "warm", "t")
	replica.Freeze()
	lost := proxy.LoseNextReply(script("mint").Hash())
	_, err := e.Claim(t.Context(), ask("replayed", "t"))
	<-lost
	wantErr(t, err, store.ErrReplicasMissing)
	replica.Thaw()
}

// TestNotifyingWaitsForReplicas: what they lack stays staged, whoever asks; the same call again waits again.
func TestNotifyingWaitsForReplicas(t *testing.T) {
	t.Parallel()
	f, _, replica := pair(t)
	e := f.frozen("host-a", func(c *Config) { waitingFor(f.client, c) })
	c := granted(t, e, "told", "t")
	advance(t, e, c, store.HighRiskFound)
	say := func(title string) (WriteResult, error) {
		return e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: title, Severity: "critical"})
	}
	staged := func(want int) {
		t.Helper()
		if all, err := e.config.Outbox.List(outbox.Staged, 10); err != nil || len(all) != want {
			t.Errorf("%d are staged, %v, want %d", len(all), err, want)
		}
	}
	replica.Freeze()
	_, err := say("x")
	wantErr(t, err, store.ErrReplicasMissing)
	staged(1)
	wantErr(t, e.courier.FollowStaged(t.Context()), store.ErrReplicasMissing)
	if err := e.courier.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = say("x")
	wantErr(t, err, store.ErrReplicasMissing)
	staged(1)
	replica.Thaw()
	var r WriteResult
	eventually(t, "it is accepted", func() bool {
		if r, err = say("x"); err != nil {
			wantErr(t, err, store.ErrReplicasMissing)
		}
		return err == nil
	})
	if !r.Replayed || r.Ticket.State != store.Notifying {
		t.Errorf("got %+v", r)
	}
	staged(0)
	if in, err := e.config.Outbox.Get(outbox.Ref{Ticket: c.Ticket.String(), ID: r.Ticket.Intent}); err != nil || in.Origin != outbox.Committed {
		t.Errorf("the intent is %+v, %v", in, err)
	}
	if _, err = say("y"); !errors.Is(err, ErrContentConflict) && !errors.Is(err, store.ErrReplicasMissing) {
		t.Errorf("other words: %v", err)
	}
}

// TestWhatIsStagedIsCommittedWhenReplicasHaveIt, without a call.
func TestWhatIsStagedIsCommittedWhenReplicasHaveIt(t *testing.T) {
	t.Parallel()
	f, _, replica := pair(t)
	e := f.frozen("host-a", func(c *Config) { waitingFor(f.client, c) })
	c := granted(t, e, "later", "t")
	advance(t, e, c, store.HighRiskFound)
	replica.Freeze()
	_, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "critical"})
	wantErr(t, err, store.ErrReplicasMissing)
	replica.Thaw()
	eventually(t, "it is committed", func() bool {
		_ = e.courier.FollowStaged(t.Context())
		all, err := e.config.Outbox.List(outbox.Committed, 10)
		return err == nil && len(all) == 1
	})
}

// TestG10_AnAttemptAtMostOnceWaitsForReplicas: nobody must find the channel pending after a failover.
func TestG10_AnAttemptAtMostOnceWaitsForReplicas(t *testing.T) {
	t.Parallel()
	f, _, replica := pair(t)
	e := f.frozen("host-a", func(c *Config) { waitingFor(f.client, c) })
	c := granted(t, e, "once", "t")
	advance(t, e, c, store.HighRiskFound)
	var r WriteResult
	eventually(t, "it is accepted", func() (ok bool) {
		var err error
		r, err = e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "critical"})
		return err == nil
	})
	replica.Freeze()
	verdict(t, e, attempt(e, c.Ticket, r.Ticket.Intent, "ops", 1), outbox.Go)
	pager := attempt(e, c.Ticket, r.Ticket.Intent, "pager", 1)
	_, err := e.Attempt(t.Context(), pager)
	wantErr(t, err, store.ErrReplicasMissing)
	replica.Thaw()
	eventually(t, "the same attempt may go", func() bool {
		a, err := e.Attempt(t.Context(), pager)
		return err == nil && a.Verdict == outbox.Go
	})
}

// TestGoingOnWithoutReplicasIsAudited: the promise is made all the same.
func TestGoingOnWithoutReplicasIsAudited(t *testing.T) {
	t.Parallel()
	f, _, replica := pair(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) {
		waitingFor(f.client, c)
		c.Replicas.Within, c.Replicas.GoOn, c.Audit = 200*time.Millisecond, true, told.add
	})
	replica.Freeze()
	c, _ := claimed(t, e, "on", "t")
	notified(t, e, c, "ops")
	var without []string
	told.mu.Lock()
	for _, a := range told.got {
		if a.Kind == audit.Unreplicated {
			without = append(without, a.To)
		}
	}
	told.mu.Unlock()
	if want := []string{"INIT", "NOTIFYING"}; !slices.Equal(without, want) {
		t.Errorf("told are %q, want %q", without, want)
	}
	replica.Thaw()
}
