// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG10_WhatRedisLostIsThisHostsAloneIfNobodyCanHaveBegunIt(t *testing.T) {
	everywhere(t, lostIsSole)
}

func TestG10_APersonDecidesHereAboutWhatRedisLost(t *testing.T) { everywhere(t, lostIsDecided) }

// lostIsSole: b has a copy, as after a repeated notify there.
func lostIsSole(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	_, err := a.courier.Heed(t.Context(), nil)
	if err := errors.Join(err, a.lookout.Sign(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		then func(store.TicketID)
		want bool
	}{
		{"nobody", func(store.TicketID) {}, true},
		{"b sends", func(id store.TicketID) { deliver(t, b, id, "pager", "", outbox.Go) }, false},
		{"b does not know", func(id store.TicketID) { deliver(t, b, id, "pager", outbox.Unknown, outbox.Go) }, false},
		{"b was refused", func(id store.TicketID) { deliver(t, b, id, "pager", outbox.Pending, outbox.Go) }, true},
	} {
		k, _ := claimed(t, a, "sole "+c.name, "t")
		in := notified(t, a, k, "pager")
		c.then(k.Ticket)
		if _, err := a.courier.Heed(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a.config.Redis.Del(t.Context(), a.store.Keys.Ticket(k.Ticket))
		if _, err := a.courier.Heed(t.Context(), nil); err != nil { // it says nothing now
			t.Fatal(err)
		}
		q := attempt(a, k.Ticket, in, "pager", 1)
		if got := verdict(t, a, q, outbox.Lost); got.Sole != c.want {
			t.Errorf("%s: it is this host's alone: %v", c.name, got.Sole)
		}
		if q.At = time.Now().Add(-time.Hour); verdict(t, a, q, outbox.Lost).Sole {
			t.Errorf("%s: others may have taken over what is older than this run", c.name)
		}
	}
}

// TestG10_ATicketThatAnswersNothingKeepsItsDoubt: b is at it when a asks for the last time. Then the ticket cannot be read for long, and is
// lost.
func TestG10_ATicketThatAnswersNothingKeepsItsDoubt(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	at := a.now()
	a.now = func() time.Duration { return at }
	k, _ := claimed(t, a, "doubted", "t")
	in, key := notified(t, a, k, "pager"), a.store.Keys.Ticket(k.Ticket)
	deliver(t, b, k.Ticket, "pager", "", outbox.Go)
	round := func(answered bool) {
		t.Helper()
		if _, err := a.courier.Heed(t.Context(), nil); (err == nil) != answered {
			t.Errorf("the round says %v", err)
		}
	}
	round(true)
	f.client.Del(t.Context(), key)
	f.client.Set(t.Context(), key, "not a ticket", 0)
	for range 3 {
		at += 5 * time.Minute
		round(false)
	}
	f.client.Del(t.Context(), key)
	round(true)
	if err := a.lookout.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if verdict(t, a, attempt(a, k.Ticket, in, "pager", 1), outbox.Lost).Sole {
		t.Error("what another was at is this host's alone")
	}
}

// lostIsDecided: pager was begun, Redis lost the ticket, and what is known of it waits in the outbox.
func lostIsDecided(t *testing.T, s *shared) {
	told := &auditLog{}
	e := s.fleet(t).frozen("host-a", func(c *Config) { c.Audit = told.add })
	for _, c := range []struct {
		name string
		do   func(delivery.Resolution) (store.Ticket, error)
		kind audit.Kind
		want outbox.Status
		is   outbox.Status // in the outbox
		open int           // intents afterwards
		due  bool
	}{
		{"retry", func(r delivery.Resolution) (store.Ticket, error) { return e.Retry(t.Context(), r) }, audit.Retried, outbox.Pending, outbox.Discarded, 1, true},
		{"settle", func(r delivery.Resolution) (store.Ticket, error) { return e.Settle(t.Context(), r) }, audit.Settled, outbox.Sent, outbox.Sent, 1, true},
		{"discard", func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, audit.Discarded, outbox.Discarded, outbox.Discarded, 0, false},
	} {
		for _, anew := range []bool{false, true} { // the ticket was begun anew
			asset := c.name
			if anew {
				asset += " anew"
			}
			k, _ := claimed(t, e, asset, "t")
			id := k.Ticket
			ref := outbox.Ref{Ticket: id.String(), ID: notified(t, e, k, "pager")}
			e.config.Redis.Del(t.Context(), e.store.Keys.Ticket(id), e.store.Keys.Log(id), e.store.Keys.Lock(id.Asset))
			o := outcome(id, ref.ID, "pager", 1, outbox.Parked)
			_, err := e.Outcome(t.Context(), o)
			if err := errors.Join(err, e.config.Outbox.Keep(o)); err != nil {
				t.Fatal(err)
			}
			if last := told.got[len(told.got)-1]; last.Kind != audit.Parked {
				t.Errorf("%s: the audit has %+v", asset, last)
			}
			if anew {
				claimed(t, e, asset, "t")
			}
			r := delivery.Resolution{Ticket: id, By: "1/0", Reason: "by hand"}
			ticket, err := c.do(r)
			if err != nil || ticket.State != store.Init || !anew && ticket.Delivery["pager"].Status != c.want {
				t.Errorf("%s: got %+v, %v", asset, ticket, err)
			}
			if last := told.got[len(told.got)-1]; last.Kind != c.kind || last.Asset+"/"+last.Task != id.String() || last.Agent != "1/0" || !strings.HasPrefix(last.Reason, "by hand (") {
				t.Errorf("%s: the audit has %+v", asset, last)
			}
			intents, err := e.config.Outbox.Ticket(id.String())
			open, due := 0, false
			for _, in := range intents {
				d := in.Channels["pager"]
				if in.Origin != outbox.Closed {
					open++
					due = due || !d.Status.Settled() || !d.Recorded
				}
				if in.ID == ref.ID && d.Status != c.is {
					t.Errorf("%s: it is %s here", asset, d.Status)
				}
			}
			if err != nil || open != c.open || due != c.due {
				t.Errorf("%s: %d are open, due %v, %v", asset, open, due, err)
			}
			var illegal *store.TransitionError
			if _, err := c.do(r); !errors.Is(err, store.ErrTicketNotFound) && !errors.As(err, &illegal) {
				t.Errorf("%s: decided twice: %v", asset, err)
			}
			if anew {
				letGo(t, e, id.Asset)
			}
		}
	}
}

// TestG9_APersonDiscardsHereWhatRedisLostAndNobodyCanSend: the next run of the daemon has the channel no more.
func TestG9_APersonDiscardsHereWhatRedisLostAndNobodyCanSend(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	a := f.frozen("host-a", boxAt(t, path, outbox.Options{}))
	refs := map[string]outbox.Ref{}
	for _, name := range []string{"gone", "anew", "there"} {
		k, _ := claimed(t, a, name, "t")
		refs[name] = outbox.Ref{Ticket: k.Ticket.String(), ID: notified(t, a, k, "ops")}
		letGo(t, a, k.Ticket.Asset)
	}
	_ = a.Stop(t.Context())
	_ = a.config.Outbox.Close()
	e := f.frozen("host-a", boxAt(t, path, outbox.Options{}), func(c *Config) { c.Channels = channels[1:] })
	for name, ref := range refs {
		id := store.ID(store.Asset(name), "t")
		if name != "there" {
			lose(t, e, id)
		}
		if name == "anew" {
			claimed(t, e, name, "t")
		}
		r := delivery.Resolution{Ticket: id, Channel: "ops", By: "1/0", Reason: "the channel is no more"}
		if _, err := e.Settle(t.Context(), r); err == nil {
			t.Errorf("%s: what nobody tried to send is settled", name)
		}
		if in, err := e.config.Outbox.Get(ref); err != nil || in.Channels["ops"].Status != outbox.Pending {
			t.Errorf("%s: it is %+v, %v", name, in, err)
		}
		if _, err := e.Discard(t.Context(), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if in, err := e.config.Outbox.Get(ref); err != nil || in.Origin != outbox.Closed || in.Channels["ops"].Status != outbox.Discarded {
			t.Errorf("%s: it is %+v, %v", name, in, err)
		}
		if _, err := e.Discard(t.Context(), r); err == nil {
			t.Errorf("%s: it is discarded twice", name)
		}
	}
}

// TestG10_ADecisionOnTheTicketHoldsForWhatWaitsHere, when the ticket is back, or has another notification.
func TestG10_ADecisionOnTheTicketHoldsForWhatWaitsHere(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e, b := f.frozen("host-a"), f.frozen("host-b")
	k, _ := claimed(t, e, "back", "t")
	id := k.Ticket
	ref := outbox.Ref{Ticket: id.String(), ID: notified(t, e, k, "pager")}
	back := stand(t, e, id)
	e.config.Redis.Del(t.Context(), e.store.Keys.Ticket(id))
	if err := e.config.Outbox.Keep(outcome(id, ref.ID, "pager", 1, outbox.Parked)); err != nil {
		t.Fatal(err)
	}
	back()
	if err := e.courier.Sweep(t.Context()); err != nil || ticketOf(t, e, id).Delivery["pager"].Status != outbox.Parked {
		t.Errorf("the ticket that is back does not say that it waits: %v", err)
	}
	if _, err := b.Settle(t.Context(), delivery.Resolution{Ticket: id, By: "1/0", Reason: "it did"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.courier.Heed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if in, err := e.config.Outbox.Get(ref); err != nil || in.Origin != outbox.Closed || in.Channels["pager"].Status != outbox.Sent {
		t.Errorf("it still waits: %s, %+v, %v", in.Origin, in.Channels, err)
	}
}

// TestG10_WhatRedisLostIsNobodysAloneAfterABreak: others may have begun it while Redis took no sign of this host or answered none of its
// rounds, and before a restart.
func TestG10_WhatRedisLostIsNobodysAloneAfterABreak(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	life := 25 * time.Second
	for _, c := range []struct {
		name               string
		pass               time.Duration
		cut, signs, rounds bool // after that: a sign is asked for in vain, one is taken, a round is answered
		again              time.Duration
		want               bool
	}{
		{"nothing", 0, false, false, false, 0, true},
		{"a short cut", life / 2, true, false, false, 0, true},
		{"a cut that is over, before the next sign", life / 2, true, false, true, life / 2, false},
		{"the same, before the next round", life / 2, false, true, false, life / 2, false},
		{"no round", life, false, false, true, 0, false},
		{"signs and rounds", life / 2, false, true, true, life / 2, true},
	} {
		e := f.frozen("host-a", boxAt(t, path, outbox.Options{}), func(c *Config) { c.TTL = time.Hour })
		at := process.Boottime()
		e.now = func() time.Duration { return at }
		e.lookout.Pace.Every = time.Second // for a sign to be answered
		sign := func() error { return e.lookout.Sign(t.Context()) }
		heed := func() error { _, err := e.courier.Heed(t.Context(), nil); return err }
		if err := errors.Join(sign(), heed()); err != nil {
			t.Fatal(err)
		}
		at += time.Second
		k, _ := claimed(t, e, c.name, "t")
		q := attempt(e, k.Ticket, notified(t, e, k, "pager"), "pager", 1)
		q.Boot, q.Clock = process.BootID(), at
		at += c.pass
		if c.cut {
			server.Freeze()
			if err := sign(); !errors.Is(err, store.ErrNoAnswer) {
				t.Error(err)
			}
			server.Thaw()
		}
		if c.signs {
			if err := sign(); err != nil {
				t.Fatal(err)
			}
		}
		if c.rounds {
			if err := heed(); err != nil {
				t.Fatal(err)
			}
		}
		at += c.again
		lose(t, e, k.Ticket)
		if got := verdict(t, e, q, outbox.Lost); got.Sole != c.want {
			t.Errorf("%s: it is this host's alone: %v", c.name, got.Sole)
		}
		if err := e.config.Outbox.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestG10_ARestartKnowsNoAttemptOfOthers: what the run before has staged a moment ago is not this one's alone.
func TestG10_ARestartKnowsNoAttemptOfOthers(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	lost := func(clock time.Duration) outbox.Attempt {
		return outbox.Attempt{Ref: outbox.Ref{Ticket: "lost/t", ID: "in"}, Asset: "lost", Task: "t", Run: 1, Boot: process.BootID(), Clock: clock, Channel: "pager", Number: 1, Lease: time.Minute, AtMostOnce: true}
	}
	before := e.now()
	if verdict(t, e, lost(before), outbox.Lost).Sole {
		t.Error("it is this host's alone before it has signed, or asked anybody")
	}
	_, err := e.courier.Heed(t.Context(), nil)
	if err := errors.Join(err, e.lookout.Sign(t.Context())); err != nil {
		t.Fatal(err)
	}
	if verdict(t, e, lost(before), outbox.Lost).Sole || !verdict(t, e, lost(e.now()), outbox.Lost).Sole {
		t.Error("it is this host's alone, though staged before this run; or is not, though staged since")
	}
}
