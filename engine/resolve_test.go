// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/outbox"
)

func init() {
	contract["an administrator discards and settles"] = discardsAndSettles
	contract["an administrator retries"] = retries
}

func discardsAndSettles(t *testing.T, s *store) {
	e := s.fleet(t).host("host-a")
	say := func(asset Asset, channel string) Resolution {
		return Resolution{TicketID{asset, "t"}, channel, "1/0", "by hand"}
	}
	_, err := e.Discard(t.Context(), say("none", ""))
	wantErr(t, err, ErrTicketNotFound)

	for _, c := range []struct {
		name       string
		ops, pager outbox.Status // outcomes before
		do         func(Resolution) (Ticket, error)
		channel    string
		want       State
	}{
		{"parked did arrive", outbox.Sent, outbox.Parked, func(r Resolution) (Ticket, error) { return e.Settle(t.Context(), r) }, "pager", Notified},
		{"parked is given up", outbox.Sent, outbox.Parked, func(r Resolution) (Ticket, error) { return e.Discard(t.Context(), r) }, "", Notified},
		{"one of two is given up", "", "", func(r Resolution) (Ticket, error) { return e.Discard(t.Context(), r) }, "ops", Notifying},
		{"dead is given up", outbox.Sent, outbox.Dead, func(r Resolution) (Ticket, error) { return e.Discard(t.Context(), r) }, "", Notified},
		{"dead did arrive", outbox.Sent, outbox.Dead, func(r Resolution) (Ticket, error) { return e.Settle(t.Context(), r) }, "pager", Notified},
		{"all dead are given up", outbox.Dead, outbox.Dead, func(r Resolution) (Ticket, error) { return e.Discard(t.Context(), r) }, "", Failed},
		{"all are given up", "", "", func(r Resolution) (Ticket, error) { return e.Discard(t.Context(), r) }, "", Failed},
	} {
		k, _ := claimed(t, e, c.name, "t")
		in := notified(t, e, k, "ops", "pager")
		if c.ops != "" {
			deliver(t, e, k.Ticket, "ops", c.ops, outbox.Go)
			deliver(t, e, k.Ticket, "pager", c.pager, outbox.Go)
		}
		ticket, err := c.do(say(k.Ticket.Asset, c.channel))
		if err != nil || ticket.State != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, ticket.State, err, c.want)
		}
		if c.want == Failed {
			verdict(t, e, attempt(e, k.Ticket, in, "ops", 1), outbox.Done)
			var illegal *TransitionError
			if _, err := e.Discard(t.Context(), say(k.Ticket.Asset, "")); !errors.As(err, &illegal) {
				t.Errorf("discarded after the end: %v", err)
			}
		}
		if c.channel == "ops" {
			_, err := e.Settle(t.Context(), say(k.Ticket.Asset, "pager"))
			wantErr(t, err, ErrUnknownChannel) // it is pending: nobody knows better than the daemon
		}
	}
	list, _, err := e.History(t.Context(), TicketID{"parked did arrive", "t"})
	if err != nil || !slices.ContainsFunc(list, func(ev Event) bool {
		return ev.Event == "settled" && ev.Step == "pager" && ev.Reason == "sent: by hand" && ev.Agent == "1/0"
	}) {
		t.Errorf("the history does not tell: %+v, %v", list, err)
	}
}

func retries(t *testing.T, s *store) {
	f := s.fleet(t)
	a, b, poor := f.host("host-a"), f.host("host-b"), f.frozen("host-c", func(c *Config) { c.Channels = channels[:1] })
	k, _ := claimed(t, a, "again", "t")
	old := notified(t, a, k, "ops", "pager")
	r := Resolution{Ticket: k.Ticket, By: "1/0", Reason: "fixed"}
	_, err := b.Retry(t.Context(), r)
	wantErr(t, err, ErrUnknownChannel)
	if says := "none of the ticket's channels is unknown, parked, dead"; !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %s", err, says)
	}
	deliver(t, a, k.Ticket, "ops", outbox.Sent, outbox.Go)
	deliver(t, a, k.Ticket, "pager", outbox.Dead, outbox.Go)
	if got := state(t, a, k.Ticket); got != Failed {
		t.Fatalf("state is %s", got)
	}
	_, err = poor.Retry(t.Context(), r)
	wantErr(t, err, ErrUnknownChannel)
	if says := "this host has no channel pager of type"; !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %s", err, says)
	}

	ticket, err := b.Retry(t.Context(), r)
	if err != nil || ticket.State != Notifying || ticket.Owner != b.box.ID() || ticket.Intent == old ||
		ticket.Delivery["pager"].Status != outbox.Pending || ticket.Delivery["ops"].Status != outbox.Sent {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	got, err := b.box.Get(outbox.Ref{Ticket: k.Ticket.String(), ID: ticket.Intent})
	if err != nil || got.Origin != outbox.Committed || len(got.Channels) != 1 || string(got.Channels["pager"].Body) != "pager:again/t:x" ||
		got.Key != "again/t" {
		t.Errorf("the new intent is %+v, %v", got, err)
	}
	verdict(t, a, attempt(a, k.Ticket, old, "pager", 2), outbox.Superseded)
	deliver(t, b, k.Ticket, "pager", outbox.Sent, outbox.Go)
	if got := state(t, a, k.Ticket); got != Notified {
		t.Errorf("state is %s", got)
	}
	var illegal *TransitionError
	if _, err := b.Retry(t.Context(), r); !errors.As(err, &illegal) || !strings.Contains(err.Error(), "it must be NOTIFYING, or FAILED with") || illegal.Allowed != nil {
		t.Errorf("retried what is delivered: %v", err)
	}
	names, _ := events(t, a, k.Ticket)
	if n := len(slices.DeleteFunc(names, func(s string) bool { return s != "notifying" })); n != 2 {
		t.Errorf("%d notifying events", n)
	}
}
