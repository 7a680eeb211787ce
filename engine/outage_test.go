// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// callTime is how long a call takes at most: docs/redis.md and README say so.
const callTime = 5 * time.Second

// within runs a call that must come back in time. What this process stands still meanwhile, with the machine, does not count.
func within(t *testing.T, limit time.Duration, what string, call func() error) error {
	t.Helper()
	var stood time.Duration
	over, counted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(counted)
		const nap = 10 * time.Millisecond
		for last := time.Now(); ; {
			select {
			case <-over:
				return
			case <-time.After(nap):
			}
			stood, last = stood+time.Since(last)-nap, time.Now()
		}
	}()
	start := time.Now()
	err := call()
	took := time.Since(start)
	close(over)
	<-counted
	if took-stood > limit {
		t.Errorf("%s came back after %s, of which this machine stood still for %s", what, took, stood)
	}
	return err
}

func TestF32_CallsEndWhileRedisIsStopped(t *testing.T) {
	onOwn(t, redistest.Kinds, callsEnd)
}

// callsEnd: every call says STORE_UNAVAILABLE within 5 s, and all is well again afterwards.
func callsEnd(t *testing.T, f *fleet, o *own) {
	f.client = o.connect(time.Second) // as the daemon does
	e := f.host("host-a", func(c *Config) { c.TTL = 2 * time.Minute })
	c, _ := claimed(t, e, "stopped", "t")
	eventually(t, "it has signed", func() bool { return e.lookout.Unbroken(time.Now()) })
	for _, master := range o.masters {
		master.Freeze()
	}
	calls := map[string]func() error{
		"claim": func() error { _, err := e.Claim(t.Context(), ask("other", "t")); return err },
		"wait": func() error {
			r := ask("other", "t")
			r.Wait = time.Minute
			_, err := e.Claim(t.Context(), r)
			return err
		},
		"step":    func() error { _, err := step(t, e, c, "online", store.AssetOnline, ""); return err },
		"ticket":  func() error { _, err := e.Ticket(t.Context(), c.Ticket); return err },
		"history": func() error { _, _, err := e.History(t.Context(), c.Ticket); return err },
		"list":    func() error { _, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 10}); return err },
		"attempt": func() error {
			_, err := e.Attempt(t.Context(), attempt(e, c.Ticket, "x", "ops", 1))
			wantErr(t, err, outbox.ErrAway)
			return err
		},
	}
	var pending sync.WaitGroup // and no subtests in parallel: those wait for a place among all others
	for what, call := range calls {
		pending.Go(func() { wantErr(t, within(t, callTime, what, call), store.ErrUnavailable) })
	}
	pending.Wait()
	for _, master := range o.masters {
		master.Thaw()
	}
	o.takesWrites(e, "stopped")
	if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	o.takesWrites(e, "other")
	claimed(t, e, "other", "t")
}

func TestF32_RenewalEndsInTime(t *testing.T) {
	onOwn(t, redistest.Kinds, renewalEnds)
}

// renewalEnds: with Redis stopped a renewal comes back within a sixth of the TTL, and the claim is lost at its deadline, not seconds after
// the lock has run out.
func renewalEnds(t *testing.T, f *fleet, o *own) {
	e := f.host("host-a")
	c, _ := claimed(t, e, "stopped", "t")
	o.masters[o.at(o.beside(e, "stopped"))].Freeze()
	v, err := e.GetClaim(c.ID, agent)
	err = within(t, testTTL, "the loss", func() error {
		for v.Status == Held && err == nil {
			v, err = e.WatchClaim(t.Context(), c.ID, agent, time.Minute)
		}
		return err
	})
	if err != nil || v.Reason != ReasonExpired {
		t.Errorf("got %+v, %v", v, err)
	}
	o.masters[o.at(o.beside(e, "stopped"))].Thaw()
}

// TestF3_LaterLocksAreRenewedAfterAnOutage: cut, let expire, claim again, and see that the new claim lives.
func TestF3_LaterLocksAreRenewedAfterAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	e := (&fleet{t, c, "picket"}).host("host-a", short)
	claimed(t, e, "cut", "t")
	proxy.Refuse()
	time.Sleep(shortTTL + 200*time.Millisecond)
	proxy.Restore()
	k, _ := claimed(t, e, "cut", "t")
	time.Sleep(shortTTL)
	if v, err := e.GetClaim(k.ID, agent); err != nil || v.Status != Held {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, err := step(t, e, k, "online", store.AssetOnline, ""); err != nil {
		t.Error(err)
	}
}

func TestF16_AFullMemoryIsSaidClearly(t *testing.T) { onOwn(t, redistest.Kinds, fullMemory) }

// fullMemory: writes are refused whole, with a sentence; renewals go on, for they need no memory.
func fullMemory(t *testing.T, f *fleet, o *own) {
	e := f.host("host-a", short)
	c, _ := claimed(t, e, "full", "t")
	limit := func(bytes int) {
		for _, master := range o.masters {
			set(t, master.Client(), "config", "set", "maxmemory", bytes)
		}
	}
	limit(1)
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantErr(t, err, store.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("it says %v", err)
	}
	_, err = e.Claim(t.Context(), ask("other", "t"))
	wantErr(t, err, store.ErrUnavailable)
	time.Sleep(shortTTL)
	if v, err := e.GetClaim(c.ID, agent); err != nil || v.Status != Held {
		t.Errorf("got %+v, %v", v, err)
	}
	limit(0)
	if r, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil || r.Replayed || r.Ticket.Revision != 2 {
		t.Errorf("something of the refused write was kept: %+v, %v", r, err)
	}
}

func TestListingsPageThroughTickets(t *testing.T) { everywhere(t, listings) }

func listings(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	for i := range 25 {
		c, _ := claimed(t, e, fmt.Sprintf("list-%02d", i%5), fmt.Sprintf("t%02d", i))
		if _, err := step(t, e, c, "online", store.AssetOffline, `{"a":1}`); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
				t.Fatal(err)
			}
		} else if err := e.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []struct {
		store.TicketQuery
		want int
	}{
		{store.TicketQuery{Limit: 7}, 25},
		{store.TicketQuery{Limit: 1000}, 25},
		{store.TicketQuery{Limit: 4, State: store.Finished}, 13},
		{store.TicketQuery{Limit: 2, Asset: "list-03"}, 5},
		{store.TicketQuery{Limit: 5, Asset: "nobody"}, 0},
	} {
		seen := map[string]bool{}
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			q.Cursor = cursor
			page, err := e.Tickets(t.Context(), q.TicketQuery)
			list := page.Tickets
			cursor = page.Cursor
			if err != nil || len(list) > q.Limit || pages > 30 {
				t.Fatalf("%+v: %d tickets, page %d, %v", q, len(list), pages, err)
			}
			for _, ticket := range list {
				seen[ticket.ID.String()] = true
				if ticket.Steps["online"].Facts != nil {
					t.Error("a listing has facts")
				}
			}
		}
		if len(seen) != q.want {
			t.Errorf("%+v: %d tickets, want %d", q, len(seen), q.want)
		}
	}
	_, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 1, Cursor: "nonsense"})
	wantErr(t, err, ErrInvalid)
}
