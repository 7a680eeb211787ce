// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG9_AnotherDaemonDeliversForOneThatNeverComesBack(t *testing.T) { everywhere(t, delivered) }

func TestG9_ThreeDaemonsThatHaveSomeOfTheChannelsEach(t *testing.T) { everywhere(t, someChannels) }

func TestALivingDaemonsTicketsAreItsOwn(t *testing.T) { everywhere(t, livingKeepsItsOwn) }

func TestTheHourlyWalkPutsHintsBackAndFinishes(t *testing.T) { everywhere(t, walks) }

// hurry is a pace for tests. A sign has Every to be written; one that is late, or a stall of Life, starts the wait for Steady anew.
var hurry = lookout.Pace{Every: time.Second, Life: 5 * time.Second, Steady: 6 * time.Second, Missed: 3 * time.Second}

// hurried makes a daemon's signs fast enough for a test.
func (f *fleet) hurried(name string, channels ...delivery.Channel) *Engine {
	return f.hurriedWith(name, func(c *Config) {
		if channels != nil {
			c.Channels = channels
		}
	})
}

func (f *fleet) hurriedWith(name string, change ...func(*Config)) *Engine {
	e := f.frozen(name, change...)
	e.lookout.Pace = hurry
	e.Start()
	return e
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func has(e *Engine, id store.TicketID, intent string) bool {
	in, err := e.config.Outbox.Get(outbox.Ref{Ticket: id.String(), ID: intent})
	return err == nil && in.Origin == outbox.Adopted
}

// hintsOf is the key of those of a daemon's hints among which an asset's are.
func hintsOf(e *Engine, daemon string, a store.Asset) string {
	return e.store.Keys.Undelivered(daemon, store.HintShard(a))
}

func hinted(t *testing.T, e *Engine, daemon string, id store.TicketID) bool {
	t.Helper()
	err := e.config.Redis.ZScore(t.Context(), hintsOf(e, daemon, id.Asset), id.String()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return err == nil
}

func delivered(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.hurried("host-a")
	c, _ := claimed(t, a, "orphan", "t")
	in := notified(t, a, c, "ops", "pager")
	_ = a.Stop(t.Context())
	b := f.hurried("host-b")
	eventually(t, "host-b has the intent", func() bool { return has(b, c.Ticket, in) })
	eventually(t, "the owner is host-b, and the hint has moved", func() bool {
		return ticketOf(t, b, c.Ticket).Owner == b.config.Outbox.ID() && !hinted(t, b, a.config.Outbox.ID(), c.Ticket) && hinted(t, b, b.config.Outbox.ID(), c.Ticket)
	})
	got, _ := b.config.Outbox.Get(outbox.Ref{Ticket: c.Ticket.String(), ID: in})
	if len(got.Channels) != 2 || string(got.Channels["ops"].Body) != "ops:orphan/t:x" || got.Key != "orphan/t" {
		t.Errorf("the content is %+v", got)
	}
	deliver(t, b, c.Ticket, "ops", outbox.Sent, outbox.Go)
	deliver(t, b, c.Ticket, "pager", outbox.Sent, outbox.Go)
	// The first wakes with its old outbox: nothing is left for it to send.
	if got := verdict(t, a, attempt(a, c.Ticket, in, "ops", 1), outbox.Done); got.Status != outbox.Sent {
		t.Errorf("it is told %s", got.Status)
	}
}

func someChannels(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.hurried("host-a")
	c, _ := claimed(t, a, "shared", "t")
	in := notified(t, a, c, "ops", "pager")
	_ = a.Stop(t.Context())
	b, d := f.hurried("host-b", channels[0]), f.hurried("host-d", channels[1])
	other := f.hurried("host-e", delivery.Channel{Name: "ops", Type: "mail"})
	eventually(t, "both have the intent", func() bool { return has(b, c.Ticket, in) && has(d, c.Ticket, in) })
	if has(other, c.Ticket, in) {
		t.Error("a channel of another type was taken for it")
	}
	ticket, err := b.Ticket(t.Context(), c.Ticket)
	if err != nil || ticket.Owner != a.config.Outbox.ID() || !hinted(t, b, a.config.Outbox.ID(), c.Ticket) {
		t.Errorf("owner and hint did not stay: %s, %v", ticket.Owner, err)
	}
	deliver(t, b, c.Ticket, "ops", outbox.Sent, outbox.Go)
	letGo(t, b, c.Ticket.Asset)
	deliver(t, d, c.Ticket, "pager", outbox.Sent, outbox.Go)
	if got := state(t, b, c.Ticket); got != store.Finished { // the claim ran out with its daemon
		t.Errorf("state is %s", got)
	}
}

func livingKeepsItsOwn(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.hurried("host-a"), f.hurried("host-b")
	c, _ := claimed(t, a, "backing off", "t")
	in := notified(t, a, c, "ops")
	eventually(t, "host-b may judge", b.lookout.Steady)
	time.Sleep(hurry.Missed + 2*hurry.Every)
	if has(b, c.Ticket, in) {
		t.Fatal("it was adopted from the living")
	}
	// After an outage all signs have run out, and nobody judges before the living have signed again.
	if err := b.config.Redis.Del(t.Context(), b.store.Keys.Signs()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "host-b noticed", func() bool { return !b.lookout.Steady() })
	eventually(t, "host-b may judge again", b.lookout.Steady)
	if has(b, c.Ticket, in) {
		t.Fatal("it was adopted after an outage")
	}
	// One whose sign alone was lost, and that the walk found to be missing.
	if err := errors.Join(
		a.config.Redis.ZRem(t.Context(), a.store.Keys.Signs(), a.daemon.ID).Err(), a.store.Know(t.Context(), a.daemon.ID),
	); err != nil {
		t.Fatal(err)
	}
	eventually(t, "host-a signs again", func() bool {
		return a.config.Redis.ZScore(t.Context(), a.store.Keys.Signs(), a.daemon.ID).Val() > 0
	})
	time.Sleep(2 * hurry.Every)
	if has(b, c.Ticket, in) {
		t.Error("it was adopted though it only had to sign again")
	}
}

func walks(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "walk * [1]", "t")
	notified(t, e, c, "ops")
	e.config.Redis.Del(t.Context(), hintsOf(e, e.daemon.ID, c.Ticket.Asset))
	lost, _ := claimed(t, e, "walk lost", "t")
	notified(t, e, lost, "ops")
	e.config.Redis.HDel(t.Context(), e.store.Keys.Ticket(lost.Ticket), "owner")
	stands, _ := claimed(t, e, "walk stands", "t")
	notified(t, e, stands, "ops")
	deliver(t, e, stands.Ticket, "ops", outbox.Sent, outbox.Go)
	letGo(t, e, stands.Ticket.Asset)
	open, _ := claimed(t, e, "walk open", "t")
	notified(t, e, open, "ops")
	deliver(t, e, open.Ticket, "ops", outbox.Sent, outbox.Go)

	if err := e.courier.Walk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !hinted(t, e, e.config.Outbox.ID(), c.Ticket) {
		t.Error("a missing hint was not put back")
	}
	if ticket, _ := e.Ticket(t.Context(), lost.Ticket); ticket.Owner != e.config.Outbox.ID() {
		t.Errorf("the owner is %q", ticket.Owner)
	}
	if got := state(t, e, stands.Ticket); got != store.Finished {
		t.Errorf("without a claim it is %s", got)
	}
	if got := state(t, e, open.Ticket); got != store.Notified {
		t.Errorf("with a claim it is %s", got)
	}
}
