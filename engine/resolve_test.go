// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestAnAdministratorDiscardsAndSettles(t *testing.T) { everywhere(t, discardsAndSettles) }

func TestAnAdministratorRetries(t *testing.T) { everywhere(t, retries) }

func discardsAndSettles(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	say := func(asset store.Asset, channel string) delivery.Resolution {
		return delivery.Resolution{Ticket: store.ID(asset, "t"), Channel: channel, By: "1/0", Reason: "by hand"}
	}
	_, err := e.Discard(t.Context(), say("none", ""))
	wantErr(t, err, store.ErrTicketNotFound)

	for _, c := range []struct {
		name       string
		ops, pager outbox.Status // outcomes before
		do         func(delivery.Resolution) (store.Ticket, error)
		channel    string
		want       store.State
	}{
		{"parked did arrive", outbox.Sent, outbox.Parked, func(r delivery.Resolution) (store.Ticket, error) { return e.Settle(t.Context(), r) }, "pager", store.Notified},
		{"parked is given up", outbox.Sent, outbox.Parked, func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, "", store.Notified},
		{"one of two is given up", "", "", func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, "ops", store.Notifying},
		{"dead is given up", outbox.Sent, outbox.Dead, func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, "", store.Notified},
		{"dead did arrive", outbox.Sent, outbox.Dead, func(r delivery.Resolution) (store.Ticket, error) { return e.Settle(t.Context(), r) }, "pager", store.Notified},
		{"all dead are given up", outbox.Dead, outbox.Dead, func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, "", store.Failed},
		{"all are given up", "", "", func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, "", store.Failed},
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
		if c.want == store.Failed {
			verdict(t, e, attempt(e, k.Ticket, in, "ops", 1), outbox.Done)
			var illegal *store.TransitionError
			if _, err := e.Discard(t.Context(), say(k.Ticket.Asset, "")); !errors.As(err, &illegal) || !strings.Contains(err.Error(), "it must be NOTIFYING, or FAILED with") || illegal.Allowed != nil {
				t.Errorf("discarded after the end: %v", err)
			}
		}
		if c.channel == "ops" {
			_, err := e.Settle(t.Context(), say(k.Ticket.Asset, "pager"))
			wantErr(t, err, delivery.ErrUnknownChannel) // it is pending: nobody knows better than the daemon
		}
	}
	list, _, err := e.History(t.Context(), store.ID("parked did arrive", "t"))
	if err != nil || !slices.ContainsFunc(list, func(ev store.Event) bool {
		return ev.Event == "settled" && ev.Step == "pager" && ev.Reason == "sent: by hand" && ev.Agent == "1/0"
	}) {
		t.Errorf("the history does not tell: %+v, %v", list, err)
	}
}

func retries(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b, poor := f.host("host-a"), f.host("host-b"), f.frozen("host-c", func(c *Config) { c.Channels = channels[:1] })
	k, _ := claimed(t, a, "again", "t")
	old := notified(t, a, k, "ops", "pager")
	r := delivery.Resolution{Ticket: k.Ticket, By: "1/0", Reason: "fixed"}
	_, err := b.Retry(t.Context(), r)
	wantErr(t, err, delivery.ErrUnknownChannel)
	if says := "none of the ticket's channels is unknown, parked, dead"; !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %s", err, says)
	}
	deliver(t, a, k.Ticket, "ops", outbox.Sent, outbox.Go)
	deliver(t, a, k.Ticket, "pager", outbox.Dead, outbox.Go)
	if got := state(t, a, k.Ticket); got != store.Failed {
		t.Fatalf("state is %s", got)
	}
	_, err = poor.Retry(t.Context(), r)
	wantErr(t, err, delivery.ErrUnknownChannel)
	if says := "this host has no channel pager of type"; !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %s", err, says)
	}

	ticket, err := b.Retry(t.Context(), r)
	if err != nil || ticket.State != store.Notifying || ticket.Owner != b.config.Outbox.ID() || ticket.Intent == old ||
		ticket.Delivery["pager"].Status != outbox.Pending || ticket.Delivery["ops"].Status != outbox.Sent {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	got, err := b.config.Outbox.Get(outbox.Ref{Ticket: k.Ticket.String(), ID: ticket.Intent})
	if err != nil || got.Origin != outbox.Committed || len(got.Channels) != 1 || string(got.Channels["pager"].Body) != "pager:again/t:x" ||
		got.Key != "again/t" {
		t.Errorf("the new intent is %+v, %v", got, err)
	}
	verdict(t, a, attempt(a, k.Ticket, old, "pager", 2), outbox.Superseded)
	deliver(t, b, k.Ticket, "pager", outbox.Sent, outbox.Go)
	if got := state(t, a, k.Ticket); got != store.Notified {
		t.Errorf("state is %s", got)
	}
	var illegal *store.TransitionError
	if _, err := b.Retry(t.Context(), r); !errors.As(err, &illegal) {
		t.Errorf("retried what is delivered: %v", err)
	}
	names, _ := events(t, a, k.Ticket)
	if n := len(slices.DeleteFunc(names, func(s string) bool { return s != "notifying" })); n != 2 {
		t.Errorf("%d notifying events", n)
	}
}
