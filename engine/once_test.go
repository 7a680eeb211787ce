// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG10_AtMostOnceIsFrozenWithTheContent(t *testing.T) { everywhere(t, onceIsFrozen) }

// onceIsFrozen: other hosts adopt and retry, on which ops is at_most_once and pager is not. They keep to what it was for the host
// that accepted the notification, unless the ticket is from before that was written.
func onceIsFrozen(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.frozen("host-a")
	b := f.frozen("host-b", func(c *Config) {
		c.Channels = []delivery.Channel{{Name: "ops", Type: "webhook", AtMostOnce: true}, {Name: "pager", Type: "exec"}}
	})
	for _, c := range []struct {
		name   string
		frozen bool
		want   map[string]bool
	}{
		{"frozen", true, map[string]bool{"ops": false, "pager": true}},
		{"written before", false, map[string]bool{"ops": true, "pager": false}},
	} {
		k, _ := claimed(t, a, "once "+c.name, "t")
		in := notified(t, a, k, "ops", "pager")
		key := a.store.Keys.Ticket(k.Ticket)
		if !c.frozen {
			a.config.Redis.HDel(t.Context(), key, "once.ops", "once.pager")
		}
		has := func(by, intent string) {
			t.Helper()
			got, err := b.config.Outbox.Get(outbox.Ref{Ticket: k.Ticket.String(), ID: intent})
			if err != nil || len(got.Channels) != 2 {
				t.Fatalf("%s, %s: the outbox has %+v, %v", c.name, by, got, err)
			}
			for channel, want := range c.want {
				if got.Channels[channel].AtMostOnce != want {
					t.Errorf("%s, %s: at_most_once of %s is %v", c.name, by, channel, !want)
				}
			}
		}
		snap, err := b.store.Read(t.Context(), k.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.courier.Adopt(k.Ticket, snap.Hash); err != nil {
			t.Fatal(err)
		}
		has("adopted", in)
		for _, channel := range []string{"ops", "pager"} {
			a.config.Redis.HSet(t.Context(), key, "delivery."+channel, "parked")
		}
		ticket, err := b.Retry(t.Context(), delivery.Resolution{Ticket: k.Ticket, By: "1/0", Reason: "fixed"})
		if err != nil {
			t.Fatal(err)
		}
		has("retried", ticket.Intent)

		// A question that takes neither for at_most_once: the ticket knows better.
		for channel, once := range c.want {
			q := attempt(b, k.Ticket, ticket.Intent, channel, 1)
			q.AtMostOnce = false
			verdict(t, b, q, outbox.Go)
			a.config.Redis.HSet(t.Context(), key, "lease."+channel, 1) // it ran out
			q.Number = 2
			verdict(t, b, q, map[bool]outbox.Verdict{false: outbox.Go, true: outbox.Park}[once])
		}
	}
}

func TestG10_ARetryIsAWordAboutItsChannelsInItsRunAlone(t *testing.T) { everywhere(t, wordOfARetry) }

// wordOfARetry: a knows of an attempt on pager that Redis lost. What b accepted then is parked on a, unless a person had pager sent once
// more; a retry of ops says nothing of it, nor does one of an earlier run.
func wordOfARetry(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	retry := func(id store.TicketID, channel string) string {
		t.Helper()
		a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "delivery."+channel, "dead")
		ticket, err := a.Retry(t.Context(), delivery.Resolution{Ticket: id, Channel: channel, By: "1/0", Reason: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return ticket.Intent
	}
	for name, c := range map[string]struct {
		then func(store.TicketID)
		want bool // it counts for pager that nobody knows whether the lost attempt arrived
	}{
		"no retry":              {func(store.TicketID) {}, true},
		"of ops":                {func(id store.TicketID) { retry(id, "ops") }, true},
		"of pager":              {func(id store.TicketID) { retry(id, "pager") }, false},
		"of pager, then of ops": {func(id store.TicketID) { retry(id, "pager"); retry(id, "ops") }, false},
		"of pager, which was begun, and then of ops": {func(id store.TicketID) {
			in := retry(id, "pager")
			if err := a.config.Outbox.Begin(outbox.Ref{Ticket: id.String(), ID: in}, "pager", 1); err != nil {
				t.Fatal(err)
			}
			retry(id, "ops")
		}, true},
	} {
		k, _ := claimed(t, a, "word "+name, "t")
		id := k.Ticket
		notified(t, a, k, "pager")
		if _, err := a.Discard(t.Context(), delivery.Resolution{Ticket: id, By: "1/0", Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Reopen(t.Context(), id, "1/0", "again"); err != nil {
			t.Fatal(err)
		}
		back := stand(t, a, id)
		k, _ = claimed(t, a, string(id.Asset), "t")
		lost := notified(t, a, k, "ops", "pager")
		if err := a.config.Outbox.Begin(outbox.Ref{Ticket: id.String(), ID: lost}, "pager", 1); err != nil {
			t.Fatal(err)
		}
		back()
		letGo(t, a, id.Asset)
		k, _ = claimed(t, b, string(id.Asset), "t")
		notified(t, b, k, "ops", "pager")
		c.then(id)
		snap, err := a.store.Read(t.Context(), id)
		if err := errors.Join(err, a.courier.Adopt(id, snap.Hash)); err != nil {
			t.Fatal(err)
		}
		ref := outbox.Ref{Ticket: id.String(), ID: snap.Intent()}
		in, err := a.config.Outbox.Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.config.Outbox.Attempted(ref, 2, "pager", in.Channels["pager"].Retried); err != nil || got != c.want {
			t.Errorf("%s: it counts: %v, %v", name, got, err)
		}
	}
}
