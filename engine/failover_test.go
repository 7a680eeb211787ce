// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// behindSentinel is a fleet on a master with one replica that a Sentinel makes the master when it is told to.
func behindSentinel(t *testing.T) (*fleet, *redistest.Sentinel) {
	set := redistest.StartStillSentinel(t)
	return &fleet{t, sentinelClient(t, set), "picket"}, set
}

func sentinelClient(t *testing.T, set *redistest.Sentinel) redis.UniversalClient {
	c := connect(10*time.Second, &redis.UniversalOptions{
		Addrs: set.Addrs(), MasterName: set.MasterName, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// loseMaster kills the master, and makes its replica the master with what it had when it was detached.
func loseMaster(t *testing.T, f *fleet, set *redistest.Sentinel) {
	t.Helper()
	set.Master.Kill()
	set.Replica.Thaw()
	set.Failover()
	eventually(t, "the new master takes writes", func() bool { return f.client.Set(t.Context(), "probe", 1, 0).Err() == nil })
}

// TestF12_F31_AFailoverThatLosesTheNewestGrantRevivesTheOneBefore: a's claim ran out while a stood still; b claimed, and only the master
// knew. Afterwards a may write and b may not; b is told, sees the token go back, and the next claim fences both off.
func TestF12_F31_AFailoverThatLosesTheNewestGrantRevivesTheOneBefore(t *testing.T) {
	t.Parallel()
	f, set := behindSentinel(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	ca, _ := claimed(t, a, "revived", "t")
	stopClock(a)
	letGo(t, a, "revived")
	replica := set.Replica.Client()
	eventually(t, "the replica has a's grant, and its lock no more", func() bool {
		return replica.HGet(t.Context(), a.store.Keys.Grant("revived"), "nonce").Val() != "" && replica.Exists(t.Context(), a.store.Keys.Lock("revived")).Val() == 0
	})
	set.Detach()
	cb, _ := claimed(t, b, "revived", "t")
	loseMaster(t, f, set)
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

// TestF31_AGrantThatAReplicaLacksIsAnsweredToNobody: with wait_replicas = 1 the same leaves b without a claim.
func TestF31_AGrantThatAReplicaLacksIsAnsweredToNobody(t *testing.T) {
	t.Parallel()
	f, set := behindSentinel(t)
	wait := func(c *Config) { waitingFor(f.client, c) }
	a, b := f.frozen("host-a", wait), f.frozen("host-b", wait)
	ca := granted(t, a, "kept", "t")
	stopClock(a)
	letGo(t, a, "kept")
	set.Detach()
	_, err := b.Claim(t.Context(), ask("kept", "t"))
	wantErr(t, err, store.ErrReplicasMissing)
	loseMaster(t, f, set)
	if _, err := step(t, a, ca, "online", store.AssetOffline, ""); err != nil {
		t.Errorf("the newest claim that was answered is a's, and it cannot write: %v", err)
	}
}

// TestF31_OneOfTwoReplicasMayLackWhatTheOtherHas: a grant that one of them has is answered, and is lost when the other takes over. Where
// both are waited for it is answered to nobody.
func TestF31_OneOfTwoReplicasMayLackWhatTheOtherHas(t *testing.T) {
	t.Parallel()
	f, set := behindSentinel(t)
	second := redistest.StartReplica(t, set.Master)
	waits := func(replicas int) func(*Config) {
		return func(c *Config) {
			waitingFor(f.client, c)
			c.Replicas.Number = replicas
		}
	}
	one, both := f.frozen("host-1", waits(1)), f.frozen("host-2", waits(2))
	k := granted(t, both, "early", "t")
	if err := both.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	set.Detach()
	lost := granted(t, one, "lost", "t")
	_, err := both.Claim(t.Context(), ask("refused", "t"))
	wantErr(t, err, store.ErrReplicasMissing)
	second.Kill()
	loseMaster(t, f, set)
	_, err = step(t, one, lost, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
}
