// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func sentinelClient(t *testing.T, set *redistest.Sentinel) redis.UniversalClient {
	c := connect(10*time.Second, &redis.UniversalOptions{
		Addrs: set.Addrs(), MasterName: set.MasterName, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestF12_F31_AFailoverThatLosesTheNewestGrantRevivesTheOneBefore(t *testing.T) {
	onOwn(t, replicated, revivesTheOneBefore)
}

// revivesTheOneBefore: a's claim ran out while a stood still; b claimed, and only the master knew. Afterwards a may write and b may not; b is
// told, sees the token go back, and the next claim fences both off.
func revivesTheOneBefore(t *testing.T, f *fleet, o *own) {
	a, b := f.frozen("host-a"), f.frozen("host-b")
	ca, _ := claimed(t, a, "revived", "t")
	stopClock(a)
	letGo(t, a, "revived")
	o.caughtUp(a, "revived")
	o.detach(a, "revived")
	cb, _ := claimed(t, b, "revived", "t")
	o.lose(a, "revived")
	if _, err := step(t, a, ca, "online", store.AssetOffline, ""); err != nil {
		t.Errorf("the claim before is not revived: the page, doc.go and README say so: %v", err)
	}
	_, err := step(t, b, cb, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	if v, err := b.GetClaim(cb.ID, agent); err != nil || v.Status != Lost {
		t.Errorf("b is told %+v, %v", v, err)
	}
	next, r := claimed(t, b, "revived", "t")
	if next.Token <= cb.Token || r.Ticket.State != store.AssetOffline {
		t.Errorf("the token after %d is %d, the ticket %s", cb.Token, next.Token, r.Ticket.State)
	}
	if !slices.Contains(alarmed(b), lookout.AlarmTokenBack) {
		t.Errorf("the alarms are %q", alarmed(b))
	}
	_, err = step(t, a, ca, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
}

func TestF31_AGrantThatAReplicaLacksIsAnsweredToNobody(t *testing.T) {
	onOwn(t, replicated, lackingGrant)
}

// lackingGrant: with wait_replicas = 1 the same leaves b without a claim.
func lackingGrant(t *testing.T, f *fleet, o *own) {
	wait := func(c *Config) { waitingFor(f.client, c) }
	a, b := f.frozen("host-a", wait), f.frozen("host-b", wait)
	ca := granted(t, a, "kept", "t")
	stopClock(a)
	letGo(t, a, "kept")
	o.detach(a, "kept")
	_, err := b.Claim(t.Context(), ask("kept", "t"))
	wantErr(t, err, store.ErrReplicasMissing)
	o.lose(a, "kept")
	if _, err := step(t, a, ca, "online", store.AssetOffline, ""); err != nil {
		t.Errorf("the newest claim that was answered is a's, and it cannot write: %v", err)
	}
}

func TestF31_OneOfTwoReplicasMayLackWhatTheOtherHas(t *testing.T) { onOwn(t, replicated, oneOfTwo) }

// oneOfTwo: a grant that one of them has is answered, and is lost when the other takes over. Where both are waited for it is answered to
// nobody.
func oneOfTwo(t *testing.T, f *fleet, o *own) {
	waits := func(replicas int) func(*Config) {
		return func(c *Config) {
			waitingFor(f.client, c)
			c.Replicas.Number = replicas
		}
	}
	one, both := f.frozen("host-1", waits(1)), f.frozen("host-2", waits(2))
	second := o.anotherReplica(o.at(o.beside(one, "shared")))
	k := granted(t, both, "shared", "early")
	if err := both.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	o.detach(one, "shared")
	lost := granted(t, one, "shared", "t")
	letGo(t, one, "shared")
	_, err := both.Claim(t.Context(), ask("shared", "refused"))
	wantErr(t, err, store.ErrReplicasMissing)
	second.Kill()
	o.lose(one, "shared")
	_, err = step(t, one, lost, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
}

func TestStepsRenewalsAndEndsWaitForNoReplica(t *testing.T) { onOwn(t, replicated, waitsForNone) }

// waitsForNone: while the replica that grants wait for is away, a claim is renewed, and its steps, its failure and its end are accepted. A
// failover loses them, and the same claim does the step again.
func waitsForNone(t *testing.T, f *fleet, o *own) {
	e := f.frozen("host-a", func(c *Config) { waitingFor(f.client, c) })
	ended, kept := granted(t, e, "shared", "ended"), (*Claim)(nil)
	if _, err := step(t, e, ended, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	o.caughtUp(e, "shared")
	o.replicas[o.at(o.beside(e, "shared"))].Freeze()
	if _, err := e.Finish(t.Context(), ended.ID, agent, ""); err != nil {
		t.Errorf("an end: %v", err)
	}
	o.replicas[o.at(o.beside(e, "shared"))].Thaw()
	kept = granted(t, e, "shared", "kept")
	o.detach(e, "shared")
	lock := e.store.Keys.Lock("shared")
	if err := f.client.PExpire(t.Context(), lock, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	c, err := e.claims.get(kept.ID, agent)
	if err != nil {
		t.Fatal(err)
	}
	e.extend(t.Context(), c)
	if left := f.client.PTTL(t.Context(), lock).Val(); left > testTTL {
		t.Errorf("the lock was not renewed, and has %s left", left)
	}
	if _, err := step(t, e, kept, "online", store.AssetOnline, ""); err != nil {
		t.Errorf("a step: %v", err)
	}
	if _, err := e.Fail(t.Context(), kept.ID, agent, FailureRequest{Step: "vuln", Error: "x"}); err != nil {
		t.Errorf("a failure: %v", err)
	}
	o.lose(e, "shared")
	if r, err := step(t, e, kept, "online", store.AssetOnline, ""); err != nil || r.Replayed {
		t.Errorf("the step that was lost, done again: %+v, %v", r, err)
	}
}

func TestWhatACutOffMasterTakesIsLost(t *testing.T) { onOwn(t, replicated, cutOff) }

// cutOff: a master that nobody else hears takes writes for as long as it lives, and a failover loses each of them.
func cutOff(t *testing.T, f *fleet, o *own) {
	e := f.frozen("host-a", func(c *Config) { c.TTL = 10 * time.Minute })
	k, _ := claimed(t, e, "cut off", "t")
	o.caughtUp(e, "cut off")
	o.detach(e, "cut off")
	advance(t, e, k, store.HighRiskFound)
	o.lose(e, "cut off")
	if s := ticketOf(t, e, k.Ticket); s.State != store.Init {
		t.Errorf("the ticket is %s: what a master takes that is cut off is not lost, and the page says so", s.State)
	}
}

func TestAMasterThatIsCutOffSoonTakesNoMoreWrites(t *testing.T) {
	onOwn(t, replicated, fewGoodReplicas)
}

// fewGoodReplicas: with min-replicas-to-write 1 it takes them only until it has not heard of its replica for min-replicas-max-lag seconds.
func fewGoodReplicas(t *testing.T, f *fleet, o *own) {
	e := f.frozen("host-a", func(c *Config) { c.TTL = 10 * time.Minute })
	k, _ := claimed(t, e, "cut off", "t")
	o.caughtUp(e, "cut off")
	i := o.at(o.beside(e, "cut off"))
	master := o.masters[i].Client()
	set(t, master, "config", "set", "min-replicas-max-lag", 10)
	set(t, master, "config", "set", "min-replicas-to-write", 1)
	o.replicas[i].Freeze() // a network that is cut closes no connection
	taken := 0
	eventually(t, "it takes no more writes", func() bool {
		err := master.Set(t.Context(), o.beside(e, "cut off"), taken, 0).Err()
		if err == nil {
			taken++
		}
		return redis.HasErrorPrefix(err, "NOREPLICAS")
	})
	if taken == 0 {
		t.Error("it took none: the replica was not given its ten seconds")
	}
	_, err := step(t, e, k, "online", store.AssetOnline, "")
	wantErr(t, err, store.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("it says %v", err)
	}
	o.replicas[i].Thaw()
	eventually(t, "it takes writes again", func() bool {
		_, err := step(t, e, k, "online", store.AssetOnline, "")
		return err == nil
	})
}
