// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG10_ARetryDoesNotSendAgainWhatIsInFlight(t *testing.T) { everywhere(t, retryWaitsForAttempt) }

func TestG10_TheEndOfAnAttemptInFlightCountsAfterARetry(t *testing.T) {
	everywhere(t, retryHearsAttempt)
}

func TestG9_ARetryHearsOfWhatWasInFlight(t *testing.T) { everywhere(t, retryHearsReceipt) }

func TestG9_AChannelWithAReceiptOfTheRunIsDone(t *testing.T) { everywhere(t, receiptSettles) }

func TestG9_AReceiptOfAnEarlierRunIsNotThisRunsDelivery(t *testing.T) {
	everywhere(t, receiptOfEarlierRun)
}

// inFlight is a ticket on pager and ops that was retried by a host for the dead channel dead, while an attempt of a's, the first,
// is under way on the other.
func inFlight(t *testing.T, asset string, a, by *Engine, dead, busy string) (id store.TicketID, old, fresh string) {
	t.Helper()
	c, _ := claimed(t, a, asset, "t")
	id, old = c.Ticket, notified(t, a, c, "ops", "pager")
	deliver(t, a, id, dead, outbox.Dead, outbox.Go)
	verdict(t, a, attempt(a, id, old, busy, 1), outbox.Go)
	ticket, err := by.Retry(t.Context(), delivery.Resolution{Ticket: id, Channel: dead, By: "1/0", Reason: "fixed"})
	if err != nil || ticket.Intent == old || ticket.Delivery[busy].Status != outbox.Sending {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	return id, old, ticket.Intent
}

// retryWaitsForAttempt: the attempts of the new intent are counted anew, so its first has the number of the one in flight.
func retryWaitsForAttempt(t *testing.T, s *shared) {
	a := s.fleet(t).frozen("host-a")
	for _, busy := range []string{"ops", "pager"} {
		id, _, fresh := inFlight(t, "waits "+busy, a, a, map[string]string{"ops": "pager", "pager": "ops"}[busy], busy)
		first := attempt(a, id, fresh, busy, 1)
		verdict(t, a, first, outbox.Busy)
		a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease."+busy, 1) // it ran out
		if busy == "ops" {
			verdict(t, a, first, outbox.Go)
			verdict(t, a, first, outbox.Go) // its reply was lost
			continue
		}
		verdict(t, a, first, outbox.Park)
		if got := verdict(t, a, first, outbox.Done); got.Status != outbox.Parked {
			t.Errorf("%s: status is %s", busy, got.Status)
		}
	}
}

// retryHearsAttempt: the attempt's own end, told by the intent that took it, ends the wait.
func retryHearsAttempt(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	for name, by := range map[string]*Engine{"here": a, "elsewhere": b} {
		id, old, fresh := inFlight(t, "hears "+name, a, by, "ops", "pager")
		for range 2 {
			closed, err := a.Outcome(t.Context(), outcome(id, old, "pager", 1, outbox.Pending))
			if err != nil || !closed {
				t.Errorf("%s: closed is %v, %v", name, closed, err)
			}
		}
		verdict(t, a, attempt(a, id, old, "pager", 2), outbox.Superseded)
		verdict(t, by, attempt(by, id, fresh, "pager", 1), outbox.Go)
		// The same told once more, late, is not about the attempt that is under way now.
		if _, err := a.Outcome(t.Context(), outcome(id, old, "pager", 1, outbox.Pending)); err != nil {
			t.Error(err)
		}
		ticket, err := a.Ticket(t.Context(), id)
		if err != nil || ticket.Delivery["pager"].Status != outbox.Sending || ticket.Delivery["pager"].Attempts != 2 {
			t.Errorf("%s: got %+v, %v", name, ticket.Delivery["pager"], err)
		}
	}
}

// retryHearsReceipt: what was in flight arrived, and the daemon that sent it says so after another's retry.
func retryHearsReceipt(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	for _, c := range []struct {
		name, busy string
		do         func(id store.TicketID, fresh string)
	}{
		{"once, in time", "pager", func(store.TicketID, string) {}},
		{"once, after its lease", "pager", func(id store.TicketID, _ string) {
			a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.pager", 1)
		}},
		{"once, after it was parked", "pager", func(id store.TicketID, fresh string) {
			a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.pager", 1)
			verdict(t, b, attempt(b, id, fresh, "pager", 1), outbox.Park)
		}},
		{"while another sends it again", "ops", func(id store.TicketID, fresh string) {
			a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.ops", 1)
			verdict(t, b, attempt(b, id, fresh, "ops", 1), outbox.Go)
		}},
	} {
		dead := map[string]string{"ops": "pager", "pager": "ops"}[c.busy]
		id, old, fresh := inFlight(t, c.name, a, b, dead, c.busy)
		c.do(id, fresh)
		for range 2 {
			closed, err := a.Outcome(t.Context(), outcome(id, old, c.busy, 1, outbox.Sent))
			if err != nil || !closed {
				t.Errorf("%s: closed is %v, %v", c.name, closed, err)
			}
		}
		if got := verdict(t, b, attempt(b, id, fresh, c.busy, 2), outbox.Done); got.Status != outbox.Sent {
			t.Errorf("%s: status is %q", c.name, got.Status)
		}
		deliver(t, b, id, dead, outbox.Sent, outbox.Go)
		if _, err := b.Outcome(t.Context(), outcome(id, fresh, c.busy, 1, outbox.Pending)); err != nil {
			t.Error(err)
		}
		// The claim is open still.
		ticket, err := b.Ticket(t.Context(), id)
		if err != nil || ticket.State != store.Notified || ticket.Delivery[c.busy].Status != outbox.Sent || ticket.Delivery[c.busy].Host != "host-a" {
			t.Errorf("%s: got %s, %+v, %v", c.name, ticket.State, ticket.Delivery, err)
		}
		names, _ := events(t, b, id)
		if n := len(slices.DeleteFunc(names, func(s string) bool { return s != "receipt" })); n != 2 {
			t.Errorf("%s: %d receipts in the history, want one for each channel", c.name, n)
		}
	}
}

// receiptSettles: Redis fell back to before NOTIFYING, and was told of a receipt before the ticket was notified anew. Its key is the
// same, so nobody is told twice.
func receiptSettles(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	for _, channel := range []string{"ops", "pager"} {
		c, _ := claimed(t, e, "found "+channel, "t")
		if _, err := e.Outcome(t.Context(), outcome(c.Ticket, "lost", channel, 1, outbox.Sent)); err != nil {
			t.Fatal(err)
		}
		in := notified(t, e, c, channel)
		for range 2 {
			if got := verdict(t, e, attempt(e, c.Ticket, in, channel, 1), outbox.Done); got.Status != outbox.Sent {
				t.Errorf("%s: status is %q", channel, got.Status)
			}
		}
		if got := state(t, e, c.Ticket); got != store.Notified {
			t.Errorf("%s: state is %s", channel, got)
		}
	}
}

func TestG10_AReceiptOfALaterRunCountsWhenThatRunBeginsAgain(t *testing.T) {
	everywhere(t, receiptOfLaterRun)
}

// receiptOfEarlierRun: a ticket was reopened while an attempt was in flight.
func receiptOfEarlierRun(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	c, _ := claimed(t, e, "run", "t")
	old := notified(t, e, c, "ops")
	verdict(t, e, attempt(e, c.Ticket, old, "ops", 1), outbox.Go)
	if _, err := e.Discard(t.Context(), delivery.Resolution{Ticket: c.Ticket, By: "1/0", Reason: "by hand"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reopen(t.Context(), c.Ticket, "1/0", "again"); err != nil {
		t.Fatal(err)
	}
	late := func() {
		t.Helper()
		for range 2 {
			if closed, err := e.Outcome(t.Context(), outcome(c.Ticket, old, "ops", 1, outbox.Sent)); err != nil || !closed {
				t.Errorf("closed is %v, %v", closed, err)
			}
		}
	}
	late()
	if ticket, err := e.Ticket(t.Context(), c.Ticket); err != nil || len(ticket.Delivery) != 0 {
		t.Errorf("the new run has %+v, %v", ticket.Delivery, err)
	}
	names, _ := events(t, e, c.Ticket)
	if n := len(slices.DeleteFunc(names, func(s string) bool { return s != "receipt" })); n != 1 {
		t.Errorf("%d receipts in the history", n)
	}
	c, _ = claimed(t, e, "run", "t")
	in := notified(t, e, c, "ops")
	late()
	a := attempt(e, c.Ticket, in, "ops", 1)
	a.Run = 2
	verdict(t, e, a, outbox.Go)
	late()
	o := outcome(c.Ticket, in, "ops", 1, outbox.Sent)
	o.Run = 2
	if ticket, err := e.Ticket(t.Context(), c.Ticket); err != nil || ticket.Delivery["ops"].Status != outbox.Sending {
		t.Errorf("the new run has %+v, %v", ticket.Delivery, err)
	}
	if _, err := e.Outcome(t.Context(), o); err != nil || state(t, e, c.Ticket) != store.Notified {
		t.Errorf("state is %s, %v", state(t, e, c.Ticket), err)
	}
}

// receiptOfLaterRun: it comes when the ticket has fallen back to the run before, which is reopened once more.
func receiptOfLaterRun(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	c, _ := claimed(t, e, "later run", "t")
	if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{"online", "x", true}); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		t.Helper()
		if _, err := e.Reopen(t.Context(), c.Ticket, "1/0", "again"); err != nil {
			t.Fatal(err)
		}
		c, _ = claimed(t, e, "later run", "t")
		return notified(t, e, c, "pager")
	}
	back := stand(t, e, c.Ticket)
	o := outcome(c.Ticket, next(), "pager", 1, outbox.Sent)
	o.Run = 2
	letGo(t, e, c.Ticket.Asset)
	back()
	if _, err := e.Outcome(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	a := attempt(e, c.Ticket, next(), "pager", 1)
	a.Run = 2
	if got := verdict(t, e, a, outbox.Done); got.Status != outbox.Sent {
		t.Errorf("what people were told is %s", got.Status)
	}
}
