// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"

	"github.com/picketd/picket/outbox"
)

func init() {
	contract["G10 a retry does not send again what is in flight"] = retryWaitsForAttempt
	contract["G10 the end of an attempt in flight counts after a retry"] = retryHearsAttempt
}

// inFlight is a ticket on pager and ops that was retried by a host for the dead channel dead, while an attempt of a's, the first,
// is under way on the other.
func inFlight(t *testing.T, asset string, a, by *Engine, dead, busy string) (id TicketID, old, fresh string) {
	t.Helper()
	c, _ := claimed(t, a, asset, "t")
	id, old = c.Ticket, notified(t, a, c, "ops", "pager")
	deliver(t, a, id, dead, outbox.Dead, outbox.Go)
	verdict(t, a, attempt(a, id, old, busy, 1), outbox.Go)
	ticket, err := by.Retry(t.Context(), Resolution{Ticket: id, Channel: dead, By: "1/0", Reason: "fixed"})
	if err != nil || ticket.Intent == old || ticket.Delivery[busy].Status != outbox.Sending {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	return id, old, ticket.Intent
}

// retryWaitsForAttempt: the attempts of the new intent are counted anew, so its first has the number of the one in flight.
func retryWaitsForAttempt(t *testing.T, s *store) {
	a := s.fleet(t).frozen("host-a")
	for _, busy := range []string{"ops", "pager"} {
		id, _, fresh := inFlight(t, "waits "+busy, a, a, map[string]string{"ops": "pager", "pager": "ops"}[busy], busy)
		first := attempt(a, id, fresh, busy, 1)
		verdict(t, a, first, outbox.Busy)
		a.redis.HSet(t.Context(), a.keys.ticket(id), "lease."+busy, 1) // it ran out
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
func retryHearsAttempt(t *testing.T, s *store) {
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
