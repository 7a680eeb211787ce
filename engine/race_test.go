// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestWhatChangedSinceItWasReadIsSeenByTheScript(t *testing.T) { everywhere(t, racesAreSeen) }

// racesAreSeen asks the scripts what Go has asked before them, as it is when another daemon came between.
func racesAreSeen(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "races", "t")
	in := notified(t, e, c, "ops")
	own := func(want bool, intent, from, to string) {
		t.Helper()
		if got, err := e.store.Own(t.Context(), c.Ticket, intent, from, to, "why"); err != nil || got != want {
			t.Errorf("own by %s: %v, %v", to, got, err)
		}
	}
	admin := store.Writer{Agent: "1/0"}
	retry := func(want store.Code, before string) {
		t.Helper()
		r := store.Retrial{Intent: "new", Before: before, Daemon: "another", Again: []string{"ops"}, Reason: "why"}
		if w, err := e.store.Retry(t.Context(), c.Ticket, admin, r, audit.Event{}); err != nil || w.Code != want {
			t.Errorf("retry: code %d, %v, want %d", w.Code, err, want)
		}
	}
	resolve := func(want store.Code, intent string, as outbox.Status, question ...outbox.Status) {
		t.Helper()
		r := store.Resolution{Request: "request", Status: as, Channels: []string{"ops"}, Question: question, Intent: intent, Reason: "why"}
		if w, err := e.store.Resolve(t.Context(), c.Ticket, admin, r, audit.Event{}); err != nil || w.Code != want {
			t.Errorf("resolve as %s: code %d, %v, want %d", as, w.Code, err, want)
		}
	}
	me := e.daemon.ID
	own(false, in, "somebody", "another")
	own(false, "an older intent", me, "another")
	retry(store.Conflict, "an older intent")
	resolve(store.Mismatch, "an older intent", outbox.Discarded, outbox.Pending, outbox.Dead)
	resolve(store.Conflict, in, outbox.Sent, outbox.Parked, outbox.Dead)
	if ticket, err := e.Ticket(t.Context(), c.Ticket); err != nil || ticket.Owner != e.config.Outbox.ID() || ticket.Intent != in {
		t.Errorf("owner %s, intent %s, %v", ticket.Owner, ticket.Intent, err)
	}
	own(true, in, me, "another")
	own(true, in, me, "another") // its reply was lost
	deliver(t, e, c.Ticket, "ops", outbox.Sent, outbox.Go)
	own(false, in, "another", "a third")
	retry(store.Illegal, in)
	if got := state(t, e, c.Ticket); got != store.Notified {
		t.Errorf("state is %s", got)
	}
}

// TestALateFinishChangesNothing: it was refused when it was sent, and the claim has written since.
func TestALateFinishChangesNothing(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	k, _ := claimed(t, e, "a", "t")
	if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	by := c.writer()
	by.Number = c.number - 1
	if w, err := e.store.WriteClaim(t.Context(), c.ticket, by, e.store.Finish(c.flow, ""), ""); err != nil || w.Code != store.Gone {
		t.Errorf("code %d, %v", w.Code, err)
	}
	if got := state(t, e, c.ticket); got != store.AssetOffline {
		t.Errorf("it is in %s", got)
	}
}
