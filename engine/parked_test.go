// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG9_WhatIsParkedIsKeptWhenTheTicketIsLost(t *testing.T) { everywhere(t, parkedIsKept) }

func TestG10_ADecisionAboutWhatIsParkedReachesItsOwner(t *testing.T) { everywhere(t, parkedIsDecided) }

func TestG9_ARetryOfAnotherChannelKeepsWhatIsParked(t *testing.T) { everywhere(t, parkedIsHandedOn) }

func TestG9_ACopyOfWhatIsParkedIsKeptToo(t *testing.T) { everywhere(t, parkedIsCopied) }

// parks has an attempt on pager end without an outcome, as the notifier does it; also is another channel, which is dead then.
func parks(t *testing.T, e *Engine, asset string, also ...string) (store.TicketID, outbox.Ref) {
	t.Helper()
	k, _ := claimed(t, e, asset, "t")
	id := k.Ticket
	ref := outbox.Ref{Ticket: id.String(), ID: notified(t, e, k, append(also, "pager")...)}
	verdict(t, e, attempt(e, id, ref.ID, "pager", 1), outbox.Go)
	o := outcome(id, ref.ID, "pager", 1, outbox.Unknown)
	_, told := e.Outcome(t.Context(), o)
	begun := e.config.Outbox.Begin(ref, "pager", 1)
	verdict(t, e, attempt(e, id, ref.ID, "pager", 2), outbox.Park)
	o.Status = outbox.Parked
	if err := errors.Join(told, begun, e.config.Outbox.Record(o, time.Now(), true)); err != nil {
		t.Fatal(err)
	}
	for _, channel := range also {
		deliver(t, e, id, channel, outbox.Dead, outbox.Go)
		if err := e.config.Outbox.Record(outcome(id, ref.ID, channel, 1, outbox.Dead), time.Now(), true); err != nil {
			t.Fatal(err)
		}
	}
	letGo(t, e, id.Asset)
	return id, ref
}

// lose deletes a ticket.
func lose(t *testing.T, e *Engine, id store.TicketID) {
	t.Helper()
	if err := e.config.Redis.Del(t.Context(), e.store.Keys.Ticket(id), e.store.Keys.Log(id)).Err(); err != nil {
		t.Fatal(err)
	}
}

// round is one of the daemon's.
func round(t *testing.T, e *Engine) {
	t.Helper()
	_, err := e.courier.Heed(t.Context(), nil)
	if err := errors.Join(err, e.courier.Sweep(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// waits reports whether pager waits in an open intent, with all that is needed to send it; alone: on no ticket.
func waits(t *testing.T, e *Engine, ref outbox.Ref) (open, alone bool) {
	t.Helper()
	in, err := e.config.Outbox.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	d := in.Channels["pager"]
	if whole := len(in.Content) > 0 && len(d.Body) > 0 && d.AtMostOnce; in.Origin != outbox.Closed && !whole {
		t.Errorf("it is open without its content: %+v", in)
	}
	return in.Origin != outbox.Closed && d.Waits(), d.Alone()
}

// parkedIsKept: Redis loses the ticket on which pager is parked, and a person decides, before the daemon has found that out, and after.
func parkedIsKept(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	for name, c := range map[string]struct {
		do func(delivery.Resolution) (store.Ticket, error)
		is outbox.Status
	}{
		"retry":   {func(r delivery.Resolution) (store.Ticket, error) { return e.Retry(t.Context(), r) }, outbox.Discarded},
		"settle":  {func(r delivery.Resolution) (store.Ticket, error) { return e.Settle(t.Context(), r) }, outbox.Sent},
		"discard": {func(r delivery.Resolution) (store.Ticket, error) { return e.Discard(t.Context(), r) }, outbox.Discarded},
	} {
		for _, found := range []bool{false, true} {
			asset := name
			if found {
				asset += " found"
			}
			id, ref := parks(t, e, asset)
			for range 2 {
				round(t, e)
				if open, alone := waits(t, e, ref); !open || alone || e.config.Outbox.Stats().Ready != 0 {
					t.Errorf("%s: before the loss it waits: %v, alone: %v, %+v", asset, open, alone, e.config.Outbox.Stats())
				}
			}
			if lose(t, e, id); found {
				round(t, e)
				if open, alone := waits(t, e, ref); !open || !alone {
					t.Errorf("%s: after the loss it waits: %v, alone: %v", asset, open, alone)
				}
			}
			if _, err := c.do(delivery.Resolution{Ticket: id, By: "1/0", Reason: "x"}); err != nil {
				t.Fatalf("%s: %v", asset, err)
			}
			in, err := e.config.Outbox.Get(ref)
			if err != nil || in.Channels["pager"].Status != c.is {
				t.Errorf("%s: it is %+v, %v", asset, in, err)
			}
			intents, err := e.config.Outbox.Ticket(id.String())
			for _, other := range intents { // that of a retry, and the receipt of what is settled, are the notifier's
				if d := other.Channels["pager"]; other.ID != ref.ID && (d.Status != outbox.Pending || other.Origin != outbox.Committed) {
					t.Errorf("%s: the retry is %s, %+v", asset, other.Origin, d)
				}
				if err := e.config.Outbox.Shut(other.Ref, "pager"); err != nil {
					t.Fatal(err)
				}
			}
			if want := map[bool]int{true: 2, false: 1}[name == "retry"]; err != nil || len(intents) != want {
				t.Errorf("%s: there are %d intents, %v", asset, len(intents), err)
			}
		}
	}
}

// parkedIsDecided: b, or Redis through whoever was told since, decides while a is away.
func parkedIsDecided(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	discard := func(r delivery.Resolution) error { _, err := b.Discard(t.Context(), r); return err }
	for name, c := range map[string]struct {
		decide func(delivery.Resolution, outbox.Ref) error
		want   outbox.Status
	}{
		"discard": {func(r delivery.Resolution, _ outbox.Ref) error { return discard(r) }, outbox.Discarded},
		"settle":  {func(r delivery.Resolution, _ outbox.Ref) error { _, err := b.Settle(t.Context(), r); return err }, outbox.Sent},
		"retry":   {func(r delivery.Resolution, _ outbox.Ref) error { _, err := b.Retry(t.Context(), r); return err }, outbox.Parked},
		"reopen": {func(r delivery.Resolution, _ outbox.Ref) error {
			err := discard(r)
			if err == nil {
				_, err = b.Reopen(t.Context(), r.Ticket, "1/0", "again")
			}
			return err
		}, outbox.Discarded},
		"a late receipt": {func(r delivery.Resolution, ref outbox.Ref) error {
			_, err := b.Outcome(t.Context(), outcome(r.Ticket, ref.ID, "pager", 1, outbox.Sent))
			return err
		}, outbox.Sent},
		"told since, on a ticket made anew": {func(r delivery.Resolution, _ outbox.Ref) error {
			lose(t, a, r.Ticket)
			round(t, a)
			_, err := b.Outcome(t.Context(), outcome(r.Ticket, "that of a copy", "pager", 1, outbox.Sent))
			return err
		}, outbox.Sent},
	} {
		id, ref := parks(t, a, "decided "+name)
		if err := c.decide(delivery.Resolution{Ticket: id, By: "1/0", Reason: "x"}, ref); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		round(t, a)
		if in, err := a.config.Outbox.Get(ref); err != nil || in.Origin != outbox.Closed || in.Content != nil || in.Channels["pager"].Status != c.want {
			t.Errorf("%s: it is %s, %+v, %v", name, in.Origin, in.Channels, err)
		}
		again := outbox.Ref{Ticket: ref.Ticket, ID: "a next one"}
		if known, err := a.config.Outbox.Attempted(again, 1, "pager", ""); err != nil || !known && c.want != outbox.Sent {
			t.Errorf("%s: that it may have arrived is forgotten: %v", name, err)
		}
	}
}

// parkedIsHandedOn: b tries ops again, and has from then on what waits on pager.
func parkedIsHandedOn(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	id, old := parks(t, a, "handed on", "ops")
	r := delivery.Resolution{Ticket: id, Channel: "ops", By: "1/0", Reason: "mended"}
	ticket, err := b.Retry(t.Context(), r)
	if err != nil || ticket.Delivery["pager"].Status != outbox.Parked {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	fresh := outbox.Ref{Ticket: id.String(), ID: ticket.Intent}
	round(t, a)
	round(t, b)
	if open, _ := waits(t, a, old); open {
		t.Error("the owner before has it still")
	}
	if open, alone := waits(t, b, fresh); !open || alone {
		t.Errorf("with the new owner it waits: %v, alone: %v", open, alone)
	}
	lose(t, b, id)
	round(t, b)
	if open, alone := waits(t, b, fresh); !open || !alone {
		t.Errorf("after the loss it waits: %v, alone: %v", open, alone)
	}
}

// parkedIsCopied: b takes over what waits on pager with its content, and both have it when the ticket is lost. What b is told then, a
// hears from the receipt.
func parkedIsCopied(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.frozen("host-b")
	id, ref := parks(t, a, "copied")
	snap, err := b.store.Read(t.Context(), id)
	if err := errors.Join(err, b.courier.Adopt(id, snap.Hash)); err != nil {
		t.Fatal(err)
	}
	lose(t, a, id)
	for _, e := range []*Engine{a, b} {
		round(t, e)
		if open, alone := waits(t, e, ref); !open || !alone {
			t.Errorf("%s: it waits: %v, alone: %v", e.daemon.Host, open, alone)
		}
	}
	if _, err := b.Settle(t.Context(), delivery.Resolution{Ticket: id, By: "1/0", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Outcome(t.Context(), outcome(id, ref.ID, "pager", 1, outbox.Sent)); err != nil { // by its notifier
		t.Fatal(err)
	}
	round(t, a)
	if open, _ := waits(t, a, ref); open {
		t.Error("it waits still where nobody decided")
	}
}
