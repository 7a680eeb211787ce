// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"path/filepath"
	"testing"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG9_AnOwnerWithoutTheChannelGivesTheTicketUp(t *testing.T) { everywhere(t, givesUp) }

// givesUp: the owner's next run has the pager no more. A host that has it delivers there, while the owner goes on with the rest, asks
// before each send, and closes its intent when the ticket is done.
func givesUp(t *testing.T, s *shared) {
	f := s.fleet(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	a := f.hurriedWith("host-a", boxAt(t, path, outbox.Options{}))
	c, _ := claimed(t, a, "moved", "t")
	in := notified(t, a, c, "ops", "pager")
	ref := outbox.Ref{Ticket: c.Ticket.String(), ID: in}
	_ = a.Stop(t.Context())
	_ = a.config.Outbox.Close()
	next := f.hurriedWith("host-a", boxAt(t, path, outbox.Options{}), func(c *Config) { c.Channels = channels[:1] })
	b := f.hurried("host-b", channels[1])
	eventually(t, "host-b has it for the pager", func() bool { return has(b, c.Ticket, in) })
	if got, _ := b.config.Outbox.Get(ref); len(got.Channels) != 1 {
		t.Errorf("host-b took %+v", got.Channels)
	}
	if got, err := next.config.Outbox.Get(ref); err != nil || got.Origin != outbox.Adopted || ticketOf(t, next, c.Ticket).Owner != "offered" {
		t.Errorf("the owner has %s, %v, and may send it alone", got.Origin, err)
	}
	deliver(t, next, c.Ticket, "ops", outbox.Sent, outbox.Go)
	letGo(t, b, c.Ticket.Asset)
	deliver(t, b, c.Ticket, "pager", outbox.Sent, outbox.Go)
	if err := next.courier.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := next.config.Outbox.Get(ref); err != nil || got.Origin != outbox.Closed {
		t.Errorf("the ticket is done, and the owner's intent is %s, %v", got.Origin, err)
	}
	if state(t, b, c.Ticket) != store.Finished {
		t.Errorf("the ticket is %+v", ticketOf(t, b, c.Ticket))
	}
	path = filepath.Join(t.TempDir(), "outbox.db")
	d := f.frozen("host-d", boxAt(t, path, outbox.Options{}))
	k, _ := claimed(t, d, "whole", "t")
	in = notified(t, d, k, "ops", "pager")
	_ = d.config.Outbox.Close()
	f.hurriedWith("host-d", boxAt(t, path, outbox.Options{}), func(c *Config) { c.Channels = nil })
	e := f.hurried("host-e")
	eventually(t, "one that has both owns it", func() bool {
		return has(e, k.Ticket, in) && ticketOf(t, e, k.Ticket).Owner == e.config.Outbox.ID() && !hinted(t, e, "offered", k.Ticket)
	})
}

// TestG9_AnOwnerWithoutRoomGivesTheTicketUp: what it answers for and lost, it cannot take into a full outbox again.
func TestG9_AnOwnerWithoutRoomGivesTheTicketUp(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a := f.frozen("host-a", boxAt(t, filepath.Join(t.TempDir(), "small.db"), outbox.Options{MaxSize: 64 << 10}))
	fillUp(t, a.config.Outbox)
	w := f.frozen("host-w")
	c, _ := claimed(t, w, "full", "t")
	in := notified(t, w, c, "ops")
	f.client.HSet(t.Context(), a.store.Keys.Ticket(c.Ticket), "owner", a.config.Outbox.ID())
	if err := a.store.AddHint(t.Context(), a.daemon.ID, c.Ticket); err != nil {
		t.Fatal(err)
	}
	if err := a.courier.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := f.hurried("host-b")
	eventually(t, "one with room has it", func() bool { return has(b, c.Ticket, in) })
}

// TestG9_AnOfferThatIsSeenHalfMadeStands: another daemon looks through the offers after the hint was put, and before the ownership.
func TestG9_AnOfferThatIsSeenHalfMadeStands(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	c, _ := claimed(t, a, "half", "t")
	in := notified(t, a, c, "ops")
	if err := a.store.AddHint(t.Context(), store.Offered, c.Ticket); err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		if err := b.courier.LookAfter(t.Context(), store.Silent{ID: store.Offered}); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if owned, err := a.store.Own(t.Context(), c.Ticket, in, a.config.Outbox.ID(), store.Offered, "offered"); err != nil || !owned {
		t.Fatalf("%v, %v", owned, err)
	}
	look()
	if !has(b, c.Ticket, in) || ticketOf(t, b, c.Ticket).Owner != b.config.Outbox.ID() || hinted(t, b, store.Offered, c.Ticket) {
		t.Errorf("the offer is %+v", ticketOf(t, b, c.Ticket))
	}
}
