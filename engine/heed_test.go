// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG10_WhatWasDecidedIsAFactInEveryOutbox(t *testing.T) { everywhere(t, decisionsAreFacts) }

func TestG10_WhatRedisLostIsNotSentIfAnotherTellsIt(t *testing.T) { everywhere(t, lostLooksAround) }

func TestWhatWaitsForAPersonIsToldAndReadOnce(t *testing.T) { everywhere(t, decidedIsQuiet) }

// decisionsAreFacts: a has to send, and b has a copy. What an administrator decides on b is in b's outbox when the call returns, and in
// a's after the next round.
func decisionsAreFacts(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	for _, c := range []struct {
		name   string
		decide func(delivery.Resolution) error
		origin outbox.Origin // of the intent afterwards, on both
		ops    outbox.Status
		pager  outbox.Status
	}{
		{"nothing", func(delivery.Resolution) error { return nil }, "", outbox.Pending, outbox.Pending},
		{"discard", func(r delivery.Resolution) error { _, err := b.Discard(t.Context(), r); return err }, outbox.Closed, outbox.Discarded, outbox.Discarded},
		{"discard one", func(r delivery.Resolution) error {
			r.Channel = "ops"
			_, err := b.Discard(t.Context(), r)
			return err
		}, "", outbox.Discarded, outbox.Pending},
		{"settle one", func(r delivery.Resolution) error {
			deliver(t, b, r.Ticket, "ops", outbox.Unknown, outbox.Go)
			_, err := b.Settle(t.Context(), r)
			return err
		}, "", outbox.Sent, outbox.Pending},
		{"reopen", func(r delivery.Resolution) error {
			_, err := b.Discard(t.Context(), r)
			if err == nil {
				_, err = b.Reopen(t.Context(), r.Ticket, "1/0", "again")
			}
			return err
		}, outbox.Closed, outbox.Discarded, outbox.Discarded},
		{"retry", func(r delivery.Resolution) error {
			deliver(t, b, r.Ticket, "ops", outbox.Unknown, outbox.Go)
			_, err := b.Retry(t.Context(), r)
			return err
		}, outbox.Closed, outbox.Pending, outbox.Pending},
	} {
		k, _ := claimed(t, a, "fact "+c.name, "t")
		ref := outbox.Ref{Ticket: k.Ticket.String(), ID: notified(t, a, k, "ops", "pager")}
		snap, err := b.store.Read(t.Context(), k.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.courier.Adopt(k.Ticket, snap.Hash), c.decide(delivery.Resolution{Ticket: k.Ticket, By: "1/0", Reason: "x"})); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for e, origin := range map[*Engine]outbox.Origin{b: outbox.Adopted, a: outbox.Committed} {
			if e == a {
				if _, err := a.courier.Heed(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if c.origin != "" {
				origin = c.origin
			}
			in, err := e.config.Outbox.Get(ref)
			if err != nil || in.Origin != origin || in.Channels["ops"].Status != c.ops || in.Channels["pager"].Status != c.pager {
				t.Errorf("%s on %s: the intent is %s, %+v, %v", c.name, e.daemon.Host, in.Origin, in.Channels, err)
			}
		}
		letGo(t, a, k.Ticket.Asset)
	}
	due, _, err := a.config.Outbox.Due(time.Now().Add(time.Hour), 100)
	if err != nil || len(due) != 4 { // of "nothing" two
		t.Errorf("%d are to be sent, %v", len(due), err)
	}
}

// lostLooksAround: Redis lost what a had accepted, and b has told people since, under the same key, or is about to, or there is a new
// run.
func lostLooksAround(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	for _, c := range []struct {
		name string
		then func(*Claim, store.TicketID)
		want outbox.Verdict
	}{
		{"nobody", func(*Claim, store.TicketID) {}, outbox.Lost},
		{"waits", func(k *Claim, _ store.TicketID) { notified(t, b, k, "ops") }, outbox.Busy},
		{"taken over", func(k *Claim, id store.TicketID) {
			in := notified(t, b, k, "ops")
			if _, err := a.store.Own(t.Context(), id, in, b.config.Outbox.ID(), a.config.Outbox.ID(), "it is gone"); err != nil {
				t.Fatal(err)
			}
		}, outbox.Busy},
		{"elsewhere", func(k *Claim, _ store.TicketID) { notified(t, b, k, "pager") }, outbox.Lost},
		{"sends", func(k *Claim, id store.TicketID) { notified(t, b, k, "ops"); deliver(t, b, id, "ops", "", outbox.Go) }, outbox.Busy},
		{"sent", func(k *Claim, id store.TicketID) {
			notified(t, b, k, "ops")
			deliver(t, b, id, "ops", outbox.Sent, outbox.Go)
		}, outbox.Done},
		{"next run", func(k *Claim, id store.TicketID) {
			_, failed := b.Fail(t.Context(), k.ID, agent, FailureRequest{"online", "x", true})
			_, err := b.Reopen(t.Context(), id, "1/0", "again")
			if err := errors.Join(failed, err); err != nil {
				t.Fatal(err)
			}
		}, outbox.Superseded},
	} {
		k, _ := claimed(t, a, "lost "+c.name, "t")
		id, old := k.Ticket, notified(t, a, k, "ops")
		a.config.Redis.Del(t.Context(), a.store.Keys.Ticket(id), a.store.Keys.Log(id), a.store.Keys.Lock(id.Asset))
		k, _ = claimed(t, b, string(id.Asset), "t")
		c.then(k, id)
		got, err := a.Attempt(t.Context(), attempt(a, id, old, "ops", 1))
		if c.name == "taken over" {
			if _, err := a.courier.Heed(t.Context(), nil); err != nil || !has(a, id, mustTicket(t, a, id).Intent) {
				t.Errorf("what it waits for, and has to deliver itself, is not taken into the outbox: %v", err)
			}
		}
		if err != nil || got.Verdict != c.want || got.Verdict == outbox.Done && got.Status != outbox.Sent {
			t.Errorf("%s: got %+v, %v, want %d", c.name, got, err, c.want)
		}
	}
}

// decidedIsQuiet: of two parked channels one is decided about. What this outbox knows of it is not told again, and while the other waits
// the ticket is not read whole.
func decidedIsQuiet(t *testing.T, s *shared) {
	f, w := s.watched(t, "read", "outcome")
	second := delivery.Channel{Name: "second", Type: "exec", MinSeverity: "critical", AtMostOnce: true}
	e := f.frozen("host-a", func(c *Config) { c.Channels = []delivery.Channel{channels[0], channels[1], second} })
	k, _ := claimed(t, e, "quiet", "t")
	ref := outbox.Ref{Ticket: k.Ticket.String(), ID: notified(t, e, k, "pager", "second")}
	for _, channel := range []string{"pager", "second"} {
		o := outcome(k.Ticket, ref.ID, channel, 1, outbox.Parked)
		_, err := e.Outcome(t.Context(), o)
		if err := errors.Join(err, e.config.Outbox.Record(o, time.Now(), true)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.config.Outbox.Shut(ref); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Discard(t.Context(), delivery.Resolution{Ticket: k.Ticket, Channel: "pager", By: "1/0", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	sweep := func() (scripts int) {
		t.Helper()
		before := len(w.sent)
		if err := e.courier.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(w.sent) - before
	}
	if first, second := sweep(), sweep(); first != 1 || second != 0 {
		t.Errorf("the first look ran %d scripts, the second %d", first, second)
	}
	if _, err := e.Settle(t.Context(), delivery.Resolution{Ticket: k.Ticket, Channel: "second", By: "1/0", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if sweep() != 1 || hinted(t, e, e.config.Outbox.ID(), k.Ticket) {
		t.Error("what was written to the ticket is not seen")
	}
}

// TestG10_OnlyWhatTheTicketNamedLatelyIsSentAlone: with Redis away an intent goes out if it was confirmed just before it was asked for.
func TestG10_OnlyWhatTheTicketNamedLatelyIsSentAlone(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.frozen("host-a", func(c *Config) { c.TTL = time.Hour })
	const relied = 5 * time.Second // upon what a ticket said
	at := process.Boottime()
	e.now = func() time.Duration { return at }
	e.lookout.Pace.Every = time.Second
	pass := func(d time.Duration) { // with a sign of life now and then
		t.Helper()
		for ; d >= 0; d -= 10 * time.Second {
			at += min(d, 10*time.Second)
			if err := e.lookout.Sign(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass(0)
	k, _ := claimed(t, e, "lately", "t")
	in := notified(t, e, k, "ops")
	q := attempt(e, k.Ticket, in, "ops", 1)
	q.At = time.Now().Add(-relied) // so that it is the ticket's word that counts
	for _, c := range []struct {
		name  string
		since time.Duration
		heeds bool
		want  bool
	}{
		{"just accepted", 0, false, true}, {"a little later", relied, false, true}, {"later", 1, false, false}, {"asked again", time.Minute, true, true},
	} {
		if pass(c.since); c.heeds {
			if _, err := e.courier.Heed(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.courier.Fresh(q, at); got != c.want {
			t.Errorf("%s: it may go out alone is %v", c.name, got)
		}
	}
	pass(relied + 1)
	if q.Boot = ""; !e.lookout.Unbroken(q.At) {
		t.Fatal("another daemon may have taken over")
	}
	server.Freeze()
	defer server.Thaw()
	_, err := e.Attempt(t.Context(), q)
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, outbox.ErrAway) {
		t.Errorf("what nobody has confirmed for long goes out alone: %v", err)
	}
}

// TestG10_ADecisionHereConfirmsAsOfItsQuestion: the time that the call takes makes the ticket's word about the other channels no younger.
func TestG10_ADecisionHereConfirmsAsOfItsQuestion(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	at, call := process.Boottime(), time.Duration(0)
	e := f.frozen("host-a", func(c *Config) { c.Audit = func(audit.Event) { at += call } })
	e.now = func() time.Duration { return at }
	k, _ := claimed(t, e, "slow", "t")
	q := attempt(e, k.Ticket, notified(t, e, k, "ops", "pager"), "pager", 1)
	q.At = time.Now().Add(-time.Minute)
	call = 6 * time.Second
	if _, err := e.Discard(t.Context(), delivery.Resolution{Ticket: k.Ticket, Channel: "ops", By: "1/0", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if e.courier.Fresh(q, at) {
		t.Error("it counts as of the answer")
	}
}
