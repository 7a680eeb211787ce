// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG2_FrozenWriter(t *testing.T) { everywhere(t, frozenWriter) }

func TestG2_EveryKindOfWriteIsFenced(t *testing.T) { everywhere(t, everyWriteFenced) }

func TestG2_ZombieOfAnOlderTask(t *testing.T) { everywhere(t, zombieOfOlderTask) }

func TestG2_EqualityOfTokenNonceAndTicket(t *testing.T) { everywhere(t, equality) }

func TestG3_TokensOnlyGrow(t *testing.T) { everywhere(t, tokensGrow) }

func TestG3_TokensGrowWhenAllIsForgotten(t *testing.T) { everywhere(t, tokensGrowWithoutMemory) }

func TestG3_MintChecksTheLock(t *testing.T) { everywhere(t, mintChecksLock) }

func TestG4_ATicketFinishedBetweenScreenAndLockGetsNoGrant(t *testing.T) { everywhere(t, mintScreens) }

func TestF12_F31_ACounterThatGoesBack(t *testing.T) { everywhere(t, counterGoesBack) }

func TestF5_ExtendingNeverTakesTheLockAgain(t *testing.T) { everywhere(t, extendNeverRetakes) }

// frozenWriter: A finds the asset offline and sleeps; its lock runs out; B finds it online; A wakes and writes OFFLINE.
func frozenWriter(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	id := store.ID("web-01.example.com", "w48")
	ca, _ := claimed(t, a, string(id.Asset), id.Task)
	stopClock(a)
	letGo(t, a, id.Asset)

	cb, _ := claimed(t, b, string(id.Asset), id.Task)
	if cb.Token <= ca.Token {
		t.Errorf("the newer claim's token %d is not above %d", cb.Token, ca.Token)
	}
	if _, err := step(t, b, cb, "online", store.AssetOnline, `{"port":443}`); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, a, ca, "online", store.AssetOffline, "")
	wantErr(t, err, ErrStaleToken)
	if got := state(t, b, id); got != store.AssetOnline {
		t.Errorf("state is %s, want %s", got, store.AssetOnline)
	}
	_, err = step(t, a, ca, "online", store.AssetOffline, "")
	wantLost(t, err, ReasonTaken)

	names, refused := events(t, b, id)
	if want := []string{"claimed", "lost", "claimed", "step"}; !slices.Equal(names, want) {
		t.Errorf("events are %v, want %v", names, want)
	}
	if len(refused) != 2 || refused[0].Reason != "STALE_TOKEN" || refused[0].To != store.AssetOffline || refused[0].Token != ca.Token ||
		refused[1].Reason != "CLAIM_LOST" {
		t.Errorf("refused writes are %+v", refused)
	}
}

// everyWriteFenced brings a ticket to where the write would be allowed, and has another take the asset over.
func everyWriteFenced(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	for name, write := range map[string]func(c *Claim) error{
		"step": func(c *Claim) error { _, err := step(t, a, c, "intel", store.VulnCheckDone, ""); return err },
		"failure": func(c *Claim) error {
			_, err := a.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "intel"})
			return err
		},
		"final failure": func(c *Claim) error {
			_, err := a.Fail(t.Context(), c.ID, agent, FailureRequest{"intel", "x", true})
			return err
		},
		"finish": func(c *Claim) error { _, err := a.Finish(t.Context(), c.ID, agent, ""); return err },
		"notification": func(c *Claim) error {
			a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(c.Ticket), "state", string(store.HighRiskFound))
			_, err := a.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err
		},
		"release": func(c *Claim) error {
			wantLost(t, a.Release(t.Context(), c.ID, agent), ReasonTaken)
			return ErrStaleToken
		},
	} {
		ca, _ := claimed(t, a, "fence "+name, "t")
		advance(t, a, ca, store.VulnCheckDone)
		letGo(t, a, ca.Ticket.Asset)
		cb, _ := claimed(t, b, "fence "+name, "t")
		before, _ := b.Ticket(t.Context(), ca.Ticket)
		if err := write(ca); !errors.Is(err, ErrStaleToken) {
			t.Errorf("%s: got error %v", name, err)
		}
		after, err := b.Ticket(t.Context(), ca.Ticket)
		if err != nil || after.Revision != before.Revision || after.Holder == nil || after.Failure != nil {
			t.Errorf("%s: the ticket was %+v and is %+v, %v", name, before, after, err)
		}
		if got := b.config.Redis.Get(t.Context(), b.store.Keys.Lock(ca.Ticket.Asset)).Val(); got == "" {
			t.Errorf("%s: the lock of claim %s is gone", name, cb.ID)
		}
		if staged, err := a.config.Outbox.List(outbox.Staged, 10); err != nil || len(staged) > 0 {
			t.Errorf("%s: staged: %+v, %v", name, staged, err)
		}
	}
}

func zombieOfOlderTask(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	ca, _ := claimed(t, a, "db-1.example.com", "monday")
	letGo(t, a, "db-1.example.com")
	claimed(t, b, "db-1.example.com", "tuesday")
	_, err := step(t, a, ca, "online", store.AssetOffline, "")
	wantErr(t, err, ErrStaleToken)
	if got := state(t, b, ca.Ticket); got != store.Init {
		t.Errorf("the older task's ticket is in %s", got)
	}
}

func equality(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	for i, forged := range []struct {
		field string
		value any
	}{{"nonce", rand.Text()}, {"token", int64(1 << 52)}, {"token", 1}, {"ticket", "other/task"}} {
		c, _ := claimed(t, e, fmt.Sprintf("eq-%d", i), "t")
		key := e.store.Keys.Grant(c.Ticket.Asset)
		if err := e.config.Redis.HSet(t.Context(), key, forged.field, forged.value).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := step(t, e, c, "online", store.AssetOnline, "")
		wantErr(t, err, ErrStaleToken)
		if got := state(t, e, c.Ticket); got != store.Init {
			t.Errorf("%s is %v, and yet the state is %s", forged.field, forged.value, got)
		}
	}
}

func tokensGrow(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.host("host-a")
	var last int64
	for i, spoil := range []func(store.Asset){
		func(store.Asset) {},
		func(a store.Asset) { e.config.Redis.Del(t.Context(), e.store.Keys.Grant(a)) },
		func(a store.Asset) { e.config.Redis.HSet(t.Context(), e.store.Keys.Grant(a), "token", 7) },
		func(a store.Asset) { e.config.Redis.HSet(t.Context(), e.store.Keys.Grant(a), "token", int64(1)<<51) },
		func(a store.Asset) { e.config.Redis.Del(t.Context(), e.store.Keys.Grant(a)) },
		func(store.Asset) {},
	} {
		c, _ := claimed(t, e, "grow", []string{"one", "two"}[i%2])
		if c.Token <= last {
			t.Errorf("claim %d: token %d after %d", i, c.Token, last)
		}
		last = c.Token
		if err := e.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
		spoil(c.Ticket.Asset)
		if i == 3 {
			last = 1 << 51
		}
	}
}

// tokensGrowWithoutMemory: neither Redis nor the daemon remembers the last token; Redis' clock is left.
func tokensGrowWithoutMemory(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	ca, _ := claimed(t, a, "forgotten", "t")
	a.config.Redis.Del(t.Context(), a.store.Keys.Lock("forgotten"), a.store.Keys.Grant("forgotten"), a.store.Keys.Ticket(ca.Ticket))
	time.Sleep(2 * time.Millisecond)
	if cb, _ := claimed(t, b, "forgotten", "t"); cb.Token <= ca.Token {
		t.Errorf("token %d after %d", cb.Token, ca.Token)
	}
}

func mintChecksLock(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	id := store.ID("mint", "t")
	for name, lock := range map[string]string{"gone": "", "another's": "somebody"} {
		e.config.Redis.Del(t.Context(), e.store.Keys.Lock(id.Asset))
		if lock != "" {
			e.config.Redis.Set(t.Context(), e.store.Keys.Lock(id.Asset), lock, time.Minute)
		}
		m, err := e.store.Mint(t.Context(), id, store.Writer{Nonce: "mine", Agent: "1/1"}, store.AssetInference)
		if err != nil || m.Code != store.Gone {
			t.Errorf("lock %s: got code %d, error %v", name, m.Code, err)
		}
		if n := e.config.Redis.Exists(t.Context(), e.store.Keys.Grant(id.Asset), e.store.Keys.Ticket(id)).Val(); n != 0 {
			t.Errorf("lock %s: something was minted", name)
		}
	}
}

// mintScreens: a ticket that was finished between screen and lock gets no grant.
func mintScreens(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	c, _ := claimed(t, e, "screened", "t")
	e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(c.Ticket), "state", string(store.Finished))
	late := &claim{nonce: rand.Text(), ticket: c.Ticket, flow: store.AssetInference, agent: "1/1"}
	letGo(t, e, c.Ticket.Asset)
	ticket, granted, err := e.take(t.Context(), late)
	if err != nil || granted || ticket.State != store.Finished {
		t.Errorf("got %+v, %v, %v", ticket, granted, err)
	}
	if e.config.Redis.HGet(t.Context(), e.store.Keys.Grant(c.Ticket.Asset), "nonce").Val() == late.nonce {
		t.Error("a grant was minted")
	}
	if e.config.Redis.Exists(t.Context(), e.store.Keys.Lock(c.Ticket.Asset)).Val() != 0 {
		t.Error("the lock is left")
	}
}

// counterGoesBack: after a failover the grant is an older one. The claim that was lost is refused by its nonce, even when the
// new one's token happens to be its own.
func counterGoesBack(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	ca, _ := claimed(t, a, "fail.over", "t")
	letGo(t, a, "fail.over")
	cb, _ := claimed(t, b, "fail.over", "t")
	b.config.Redis.HSet(t.Context(), b.store.Keys.Grant("fail.over"), "token", ca.Token, "nonce", "of a third claim")
	for _, w := range []struct {
		e *Engine
		c *Claim
	}{{a, ca}, {b, cb}} {
		_, err := step(t, w.e, w.c, "online", store.AssetOffline, "")
		wantErr(t, err, ErrStaleToken)
	}
}

func extendNeverRetakes(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a", short), f.host("host-b")
	ca, _ := claimed(t, a, "retake", "t")
	letGo(t, a, "retake")
	cb, _ := claimed(t, b, "retake", "t")
	if err := b.Release(t.Context(), cb.ID, agent); err != nil {
		t.Fatal(err)
	}
	a.Start()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		v, err := a.GetClaim(ca.ID, agent)
		if err != nil {
			t.Fatal(err)
		}
		if v.Status == Lost {
			if v.Reason != ReasonTaken {
				t.Errorf("lost for %s", v.Reason)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the claim is held though another had the lock in between")
}
