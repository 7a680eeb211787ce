// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
)

func init() { contract["G9 a retry whose write lands late has an owner"] = lateRetry }

// lateRetry: the answer to a retry's write is lost, and so long as it may land the staged intent and the hint stay.
func lateRetry(t *testing.T, s *store) {
	e := s.fleet(t).frozen("host-a")
	for _, c := range []struct {
		name   string
		change func(id TicketID, in outbox.Intent) // of the ticket, after the retry gave up
		want   outbox.Origin                       // empty: discarded
	}{
		{"not there yet", func(TicketID, outbox.Intent) {}, outbox.Staged},
		{"landed", func(id TicketID, in outbox.Intent) {
			e.redis.HSet(t.Context(), e.keys.ticket(id), "intent", in.ID, "state", string(Notifying), "owner", e.box.ID())
		}, outbox.Committed},
		{"another came first", func(id TicketID, _ outbox.Intent) {
			e.redis.HSet(t.Context(), e.keys.ticket(id), "intent", "another")
		}, ""},
		{"the ticket is through", func(id TicketID, _ outbox.Intent) {
			e.redis.HSet(t.Context(), e.keys.ticket(id), "state", string(Finished))
		}, ""},
	} {
		k, _ := claimed(t, e, "late "+c.name, "t")
		old := notified(t, e, k, "ops")
		deliver(t, e, k.Ticket, "ops", outbox.Dead, outbox.Go)
		if err := e.box.Shut(outbox.Ref{Ticket: k.Ticket.String(), ID: old}); err != nil {
			t.Fatal(err)
		}
		snap, err := e.read(t.Context(), k.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		in, _, err := e.retryIntent(Resolution{Ticket: k.Ticket, By: "1/0", Reason: "fixed"}, &snap)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.box.Stage(in), e.hint(t.Context(), in.Ticket)); err != nil {
			t.Fatal(err)
		}
		c.change(k.Ticket, in)
		if err := errors.Join(e.settleStaged(t.Context()), e.sweepHints(t.Context())); err != nil {
			t.Fatal(err)
		}
		got, err := e.box.Get(in.Ref)
		if got.Origin != c.want || (c.want == "") != errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("%s: the intent is %q, %v, want %q", c.name, got.Origin, err, c.want)
		}
		if c.want != "" && !hinted(t, e, e.box.ID(), k.Ticket) {
			t.Errorf("%s: the hint is gone", c.name)
		}
		letGo(t, e, k.Ticket.Asset)
	}
	late := outbox.Intent{After: "x", At: time.Now().Add(-lateWrite - time.Minute)}
	if !e.comeToNothing(late, &snapshot{fields: map[string]string{"state": string(Failed), "intent": "x"}}) {
		t.Error("it is waited for without end")
	}
}
