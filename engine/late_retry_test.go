// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG9_ARetryWhoseWriteLandsLateHasAnOwner(t *testing.T) { everywhere(t, lateRetry) }

// lateRetry: the answer to a retry's write is lost, and so long as it may land the staged intent and the hint stay.
func lateRetry(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	for _, c := range []struct {
		name   string
		change func(id store.TicketID, in outbox.Intent) // of the ticket, after the retry gave up
		want   outbox.Origin                             // empty: discarded
	}{
		{"not there yet", func(store.TicketID, outbox.Intent) {}, outbox.Staged},
		{"landed", func(id store.TicketID, in outbox.Intent) {
			e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(id), "intent", in.ID, "state", string(store.Notifying), "owner", e.config.Outbox.ID())
		}, outbox.Committed},
		{"another came first", func(id store.TicketID, _ outbox.Intent) {
			e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(id), "intent", "another")
		}, ""},
		{"the ticket is through", func(id store.TicketID, _ outbox.Intent) {
			e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(id), "state", string(store.Finished))
		}, ""},
	} {
		k, _ := claimed(t, e, "late "+c.name, "t")
		old := notified(t, e, k, "ops")
		deliver(t, e, k.Ticket, "ops", outbox.Dead, outbox.Go)
		if err := e.config.Outbox.Shut(outbox.Ref{Ticket: k.Ticket.String(), ID: old}); err != nil {
			t.Fatal(err)
		}
		in, err := e.config.Outbox.Get(outbox.Ref{Ticket: k.Ticket.String(), ID: old})
		if err != nil {
			t.Fatal(err)
		}
		in.ID, in.After, in.Origin, in.At, in.Nonce = "retried "+c.name, old, outbox.Staged, time.Now(), ""
		d := in.Channels["ops"]
		d.Status, d.Body = outbox.Pending, []byte("b")
		in.Channels = map[string]outbox.Delivery{"ops": d}
		if err := errors.Join(e.config.Outbox.Stage(in), e.store.AddHint(t.Context(), e.daemon.ID, k.Ticket)); err != nil {
			t.Fatal(err)
		}
		c.change(k.Ticket, in)
		if err := errors.Join(e.courier.FollowStaged(t.Context()), e.courier.Sweep(t.Context())); err != nil {
			t.Fatal(err)
		}
		got, err := e.config.Outbox.Get(in.Ref)
		if got.Origin != c.want || (c.want == "") != errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("%s: the intent is %q, %v, want %q", c.name, got.Origin, err, c.want)
		}
		if c.want != "" && !hinted(t, e, e.config.Outbox.ID(), k.Ticket) {
			t.Errorf("%s: the hint is gone", c.name)
		}
		letGo(t, e, k.Ticket.Asset)
	}
}

func TestG9_ARetryOfWhatIsSettledMeanwhileLeavesTheTicketAsItIs(t *testing.T) {
	everywhere(t, retryTooLate)
}

// retryTooLate: another person, or a receipt, settles what a retry is about between its look at the ticket and its write. In NOTIFYING
// with nothing to send the ticket would stay for ever.
func retryTooLate(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	for _, c := range []struct {
		name   string
		settle func(r delivery.Resolution, old string) error
	}{
		{"discarded", func(r delivery.Resolution, _ string) error { _, err := e.Discard(t.Context(), r); return err }},
		{"sent", func(r delivery.Resolution, old string) error {
			_, err := e.Outcome(t.Context(), outcome(r.Ticket, old, "ops", 1, outbox.Sent))
			return err
		}},
	} {
		k, _ := claimed(t, e, "settled "+c.name, "t")
		old := notified(t, e, k, "ops", "pager")
		deliver(t, e, k.Ticket, "ops", outbox.Dead, outbox.Go)
		deliver(t, e, k.Ticket, "pager", outbox.Dead, outbox.Go)
		r := delivery.Resolution{Ticket: k.Ticket, Channel: "ops", By: "1/0", Reason: "fixed"}
		if err := c.settle(r, old); err != nil {
			t.Fatal(err)
		}
		w, err := e.store.Retry(t.Context(), k.Ticket, store.Writer{Agent: "2/0"}, store.Retrial{
			Intent: "fresh", Before: old, Daemon: e.config.Outbox.ID(), Again: []string{"ops"}, Reason: "too late",
		}, audit.Event{})
		if err != nil || w.Code != store.Conflict {
			t.Errorf("%s: got %v, %v", c.name, w.Code, err)
		}
		if ticket, err := e.Ticket(t.Context(), k.Ticket); err != nil || ticket.State != store.Failed || ticket.Intent != old {
			t.Errorf("%s: the ticket is %s with %s, %v", c.name, ticket.State, ticket.Intent, err)
		}
		letGo(t, e, k.Ticket.Asset)
	}
}
