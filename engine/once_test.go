// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"

	"github.com/picketd/picket/engine/delivery"
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
