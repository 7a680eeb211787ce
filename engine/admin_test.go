// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG8_ABrokenLockFencesTheHolderOffAndTellsIt(t *testing.T) { everywhere(t, breaks) }

func TestG4_AReopenedTicketBeginsANewRun(t *testing.T) { everywhere(t, reopens) }

func TestG8_AForcedReleaseTellsTheHolder(t *testing.T) { everywhere(t, forces) }

// toldBy waits for a claim's loss, for less than a renewal takes to come by itself.
func toldBy(t *testing.T, e *Engine, c *Claim, want Reason) {
	t.Helper()
	v, err := e.WatchClaim(t.Context(), c.ID, agent, testTTL/4)
	if err != nil || v.Status != Lost || v.Reason != want {
		t.Errorf("got %s %s, %v, want lost for %s", v.Status, v.Reason, err, want)
	}
}

func breaks(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "broken", "t")
	eventually(t, "the holder hears what is for it", func() bool { return f.listeners(f.prefix+":holder:host-a") == 1 })
	if err := b.Break(t.Context(), "broken", "1/0", "it hangs"); err != nil {
		t.Fatal(err)
	}
	toldBy(t, a, c, ReasonForced)
	_, err := step(t, a, c, "online", store.AssetOffline, "")
	wantLost(t, err, ReasonForced)
	next, _ := claimed(t, b, "broken", "t")
	if next.Token <= c.Token+1 {
		t.Errorf("token %d after %d, with a grant that nobody holds between", next.Token, c.Token)
	}
	if seen, err := b.store.Peek(t.Context(), next.Ticket); err != nil || seen.Grant.Forced { // or its loss would be told as one by force
		t.Errorf("the next grant is %+v, %v", seen.Grant, err)
	}
	list, _, err := b.History(t.Context(), c.Ticket)
	if err != nil || list[1].Event != "lost" || list[1].Reason != "forced: it hangs" || list[1].Agent != "1/0" {
		t.Errorf("the history is %+v, %v", list, err)
	}
	if err := b.Break(t.Context(), "nobody's", "1/0", "to be sure"); err != nil {
		t.Errorf("breaking a free lock: %v", err)
	}
	// The fence is the grant, not what the holder's daemon knows.
	frozen := f.frozen("host-c")
	c, _ = claimed(t, frozen, "broken-2", "t")
	if err := b.Break(t.Context(), "broken-2", "1/0", "it hangs"); err != nil {
		t.Fatal(err)
	}
	_, err = step(t, frozen, c, "online", store.AssetOffline, "")
	wantErr(t, err, ErrStaleToken)
}

func forces(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "forced", "t")
	for range 2 {
		if err := e.Force(t.Context(), c.ID, "1/0"); err != nil {
			t.Fatal(err)
		}
	}
	toldBy(t, e, c, ReasonForced)
	claimed(t, e, "forced", "t")
	names, _ := events(t, e, c.Ticket)
	if want := []string{"claimed", "lost", "claimed"}; !slices.Equal(names, want) {
		t.Errorf("events are %v, want %v", names, want)
	}
}

func reopens(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	id := store.ID("again", "t")
	_, err := e.Reopen(t.Context(), id, "1/0", "no such")
	wantErr(t, err, store.ErrTicketNotFound)
	c, _ := claimed(t, e, "again", "t")
	if _, err = e.Reopen(t.Context(), id, "1/0", "too early"); err == nil {
		t.Error("an unfinished ticket was reopened")
	}
	in := notified(t, e, c, "ops")
	deliver(t, e, id, "ops", outbox.Sent, outbox.Go)
	other, _ := claimed(t, e, "again-2", "t")
	if _, err := e.Finish(t.Context(), c.ID, agent, "told"); err != nil {
		t.Fatal(err)
	}
	ticket, err := e.Reopen(t.Context(), id, "1/0", "a mistake")
	if err != nil || ticket.State != store.Init || ticket.Run != 2 || len(ticket.Steps) != 0 || len(ticket.Delivery) != 0 ||
		ticket.Notification != nil || ticket.Summary != "" || ticket.Failure != nil {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	// An old intent in backoff somewhere is known to be superseded.
	verdict(t, e, attempt(e, id, in, "ops", 2), outbox.Superseded)
	// Its receipt goes into the history only.
	if _, err := e.Outcome(t.Context(), outcome(id, in, "ops", 2, outbox.Sent)); err != nil {
		t.Fatal(err)
	}
	if _, err := step(t, e, other, "online", store.AssetOnline, ""); err != nil {
		t.Errorf("another asset's claim: %v", err)
	}
	c, _ = claimed(t, e, "again", "t")
	again := notified(t, e, c, "ops")
	got, err := e.config.Outbox.Get(outbox.Ref{Ticket: id.String(), ID: again})
	if err != nil || got.Key != "again/t~2" || got.Run != 2 {
		t.Errorf("the second run's intent is %+v, %v", got.Key, err)
	}
	names, _ := events(t, e, id)
	if !slices.Contains(names, "reopened") {
		t.Errorf("events are %v", names)
	}
	// A claim that is open on the ticket when it is reopened is fenced off and told.
	c, _ = claimed(t, e, "again-3", "t")
	if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{"online", "broken", true}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reopen(t.Context(), c.Ticket, "1/0", "try again"); err != nil {
		t.Fatal(err)
	}
	toldBy(t, e, c, ReasonForced)
	if e.config.Redis.Exists(t.Context(), e.store.Keys.Lock("again-3")).Val() != 0 {
		t.Error("the lock is still there")
	}
	// Another task's claim that has locked, and is about to mint, keeps its lock.
	c, _ = claimed(t, e, "again-4", "t")
	if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{"online", "broken", true}); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	lock := e.store.Keys.Lock("again-4")
	e.config.Redis.Set(t.Context(), lock, "about to mint", time.Minute)
	if _, err := e.Reopen(t.Context(), c.Ticket, "1/0", "try again"); err != nil {
		t.Fatal(err)
	}
	if by := e.config.Redis.Get(t.Context(), lock).Val(); by != "about to mint" {
		t.Errorf("the lock is %q's", by)
	}
}
