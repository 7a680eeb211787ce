// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
)

func TestG9_ATicketThatFellBackIsToldOrSent(t *testing.T) { everywhere(t, fellBack) }

// fellBack: a failover brings a ticket back to NOTIFYING whose intent is closed in its owner's outbox, and takes the hint, too. The
// hourly walk puts the hint back; the owner tells what it knows, and sends what was not settled there, because another intent had
// taken its place until that was lost.
func fellBack(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	for _, c := range []struct {
		name   string
		kept   outbox.Status // of pager, in the closed intent
		found  outbox.Status // on the ticket that fell back
		leased bool          // by an attempt that the ticket knows of, of another daemon
		want   outbox.Status
		again  bool // it is open again: to be sent, or parked if it was begun, or because a person has to decide
	}{
		{name: "parked", kept: outbox.Parked, found: outbox.Pending, want: outbox.Parked, again: true},
		{name: "parked, attempt lost", kept: outbox.Parked, found: outbox.Sending, want: outbox.Parked, again: true},
		{name: "parked, attempt alive", kept: outbox.Parked, found: outbox.Sending, leased: true, want: outbox.Sending, again: true},
		{name: "dead", kept: outbox.Dead, found: outbox.Sending, want: outbox.Dead},
		{name: "discarded", kept: outbox.Discarded, found: outbox.Pending, want: outbox.Discarded},
		{name: "sent", kept: outbox.Sent, found: outbox.Sending, leased: true, want: outbox.Sent},
		{name: "superseded", kept: outbox.Pending, found: outbox.Pending, want: outbox.Pending, again: true},
		{name: "superseded and begun", kept: outbox.Sending, found: outbox.Pending, want: outbox.Pending, again: true},
	} {
		k, _ := claimed(t, e, "fell back "+c.name, "t")
		in := notified(t, e, k, "ops", "pager")
		for channel, status := range map[string]outbox.Status{"ops": outbox.Sent, "pager": c.kept} {
			o := outcome(k.Ticket, in, channel, 3, status)
			if status == outbox.Sending {
				if err := e.config.Outbox.Begin(o.Ref, channel, 3); err != nil {
					t.Fatal(err)
				}
			} else if err := e.config.Outbox.Record(o, time.Now(), status.Settled()); err != nil {
				t.Fatal(err)
			}
		}
		ref := outbox.Ref{Ticket: k.Ticket.String(), ID: in}
		if err := e.config.Outbox.Shut(ref); err != nil {
			t.Fatal(err)
		}
		lease := int64(1)
		if c.leased {
			lease = time.Now().Add(time.Hour).UnixMilli()
		}
		e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(k.Ticket), "delivery.pager", string(c.found), "attempt.pager", "another/1", "lease.pager", lease)
		e.config.Redis.Del(t.Context(), hintsOf(e, e.daemon.ID, k.Ticket.Asset))
		if err := e.courier.Walk(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := e.courier.Sweep(t.Context()); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		ticket, err := e.Ticket(t.Context(), k.Ticket)
		if err != nil || ticket.Delivery["pager"].Status != c.want || ticket.Delivery["ops"].Status != outbox.Sent {
			t.Errorf("%s: on the ticket is %+v, %v", c.name, ticket.Delivery, err)
		}
		got, err := e.config.Outbox.Get(ref)
		d := got.Channels["pager"]
		if err != nil || c.again != (got.Origin == outbox.Adopted) || d.Status != c.kept {
			t.Errorf("%s: in the outbox is %+v, %v", c.name, got, err)
		}
		if c.again && (string(d.Body) != "pager:"+k.Ticket.Key(1)+":x" || got.Channels["ops"].Status != outbox.Sent) {
			t.Errorf("%s: to be sent is %q, %+v", c.name, d.Body, got.Channels)
		}
		letGo(t, e, k.Ticket.Asset)
	}
}
