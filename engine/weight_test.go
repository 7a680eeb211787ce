// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

// TestRenewalsHaveConnectionsOfTheirOwn: while other calls have taken every connection, claims are renewed and released.
func TestRenewalsHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	urgent := client(server.Addr())
	t.Cleanup(func() { _ = urgent.Close() })
	e := f.host("one", short, func(c *Config) { c.Urgent = urgent })
	kept, _ := claimed(t, e, "kept", "t")
	released, _ := claimed(t, e, "released", "t")
	busy, done := context.WithCancel(t.Context())
	defer done()
	for range f.client.PoolStats().TotalConns + 1024 { // more than the pool has
		go func() { f.client.BLPop(busy, 0, "nothing") }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for f.client.Ping(ctx).Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Fatal("the pool of connections is not full")
	}
	time.Sleep(shortTTL)
	if c, err := e.GetClaim(kept.ID, agent); err != nil || c.Status != Held {
		t.Errorf("the claim was not renewed: %+v, %v", c, err)
	}
	if err := e.Release(t.Context(), released.ID, agent); err != nil {
		t.Errorf("the claim was not released: %v", err)
	}
}

// TestLooksReadNoFacts: what only asks for a ticket's state gets no facts of one that has any.
func TestLooksReadNoFacts(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one")
	fat := json.RawMessage(`{"a":"` + strings.Repeat("x", 2*light) + `"}`)
	c, _ := claimed(t, e, "fat", "t")
	if _, err := e.Step(t.Context(), c.ID, agent, StepRequest{Step: "online", State: "ASSET_ONLINE", Facts: fat}); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(context.Context, store.TicketID) (store.Snapshot, error){"peek": e.store.Peek, "screen": e.screen} {
		s, err := read(t.Context(), c.Ticket)
		if err != nil || s.State() != "ASSET_ONLINE" || s.Hash.Size() > 1000 || s.Size < 2*light || s.Lock == "" {
			t.Errorf("%s: %d bytes of %d, %v", name, s.Hash.Size(), s.Size, err)
		}
	}
}

// TestTicketsAreWeighed: a call that is answered with a large ticket asks first whether there is memory for it, whatever it does;
// one that is refused has written nothing.
func TestTicketsAreWeighed(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	var weighed atomic.Int64
	var refuse atomic.Bool
	full := errors.New("full")
	e := f.host("one", func(c *Config) {
		c.Weigh = func(_ context.Context, n int64) error {
			weighed.Add(n)
			if refuse.Load() {
				return full
			}
			return nil
		}
	})
	fat := json.RawMessage(`{"a":"` + strings.Repeat("x", 2*light) + `"}`)
	c, _ := claimed(t, e, "fat", "t")
	for _, s := range []StepRequest{{Step: "online", State: "ASSET_ONLINE", Facts: fat}, {Step: "vuln", State: "VULN_CHECK_DONE"}} {
		if _, err := e.Step(t.Context(), c.ID, agent, s); err != nil {
			t.Fatal(err)
		}
	}
	refuse.Store(true)
	for name, call := range map[string]func() error{
		"read": func() error { _, err := e.Ticket(t.Context(), c.Ticket); return err },
		"step": func() error {
			_, err := e.Step(t.Context(), c.ID, agent, StepRequest{Step: "intel", State: "VULN_CHECK_DONE"})
			return err
		},
		"fail": func() error {
			_, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "intel", Error: "e"})
			return err
		},
		"finish": func() error { _, err := e.Finish(t.Context(), c.ID, agent, ""); return err },
		"notify": func() error {
			_, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "t", Text: "t", Severity: "high", Facts: fat})
			return err
		},
	} {
		weighed.Store(0)
		if err := call(); !errors.Is(err, full) || weighed.Load() < copies*light {
			t.Errorf("%s: %v, weighed %d bytes", name, err, weighed.Load())
		}
	}
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Claim(t.Context(), ask("fat", "t")); !errors.Is(err, full) {
		t.Errorf("claim: %v", err)
	}
	refuse.Store(false)
	ticket, err := e.Ticket(t.Context(), c.Ticket)
	if err != nil || ticket.State != "VULN_CHECK_DONE" || len(ticket.Steps) != 2 || ticket.Failure != nil {
		t.Errorf("a refused call wrote something: %+v, %v", ticket, err)
	}
}

// TestAListingWaitsForMemoryWithinItsTime: not for as long as its caller stays.
func TestAListingWaitsForMemoryWithinItsTime(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one", func(c *Config) {
		c.Weigh = func(ctx context.Context, _ int64) error {
			if _, limited := ctx.Deadline(); limited {
				return context.DeadlineExceeded
			}
			return nil
		}
	})
	if _, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 1}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
