// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG10_TheTicketDecidesAboutEveryAttempt(t *testing.T) { everywhere(t, attemptVerdicts) }

func TestG10_AtMostOnceParksWhatIsUnknown(t *testing.T) { everywhere(t, onceParks) }

func TestG9_AReceiptIsAFact(t *testing.T) { everywhere(t, receiptIsFact) }

func TestG9_AReceiptThatIsNotForAllSaysForWhomNot(t *testing.T) { everywhere(t, receiptForSome) }

func TestNotifyIsAcceptedOnce(t *testing.T) { everywhere(t, acceptedOnce) }

func TestNotifiedAndFailed(t *testing.T) { everywhere(t, settlesTicket) }

// attempt is the question for the ticket's current intent, or for another.
func attempt(e *Engine, id store.TicketID, intent, channel string, n int) outbox.Attempt {
	return outbox.Attempt{
		Ref: outbox.Ref{Ticket: id.String(), ID: intent}, Asset: string(id.Asset), Task: id.Task, Run: 1, At: time.Now(), Channel: channel,
		Number: n, Lease: time.Minute, AtMostOnce: channel == "pager",
	}
}

func outcome(id store.TicketID, intent, channel string, n int, s outbox.Status) outbox.Outcome {
	return outbox.Outcome{
		Ref: outbox.Ref{Ticket: id.String(), ID: intent}, Asset: string(id.Asset), Task: id.Task, Run: 1, Key: id.Key(1),
		Channel: channel, Number: n, Status: s, At: time.Now(), Error: "because",
	}
}

// deliver asks for an attempt on the current intent, wants a verdict, and records an outcome, unless it is empty.
func deliver(t *testing.T, e *Engine, id store.TicketID, channel string, s outbox.Status, want outbox.Verdict) {
	t.Helper()
	ticket, err := e.Ticket(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	n := int(ticket.Delivery[channel].Attempts) + 1
	asked := attempt(e, id, ticket.Intent, channel, n)
	asked.Run = ticket.Run
	a, err := e.Attempt(t.Context(), asked)
	if err != nil || a.Verdict != want {
		t.Errorf("channel %s: got verdict %+v, %v, want %d", channel, a, err, want)
	}
	if s == "" {
		return
	}
	o := outcome(id, ticket.Intent, channel, n, s)
	o.Run, o.Key = ticket.Run, id.Key(ticket.Run)
	if _, err := e.Outcome(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// notified brings a ticket to NOTIFYING on channels and returns its intent.
func notified(t *testing.T, e *Engine, c *Claim, channels ...string) string {
	t.Helper()
	advance(t, e, c, store.HighRiskFound)
	r, err := e.Notify(t.Context(), c.ID, c.UID, delivery.Request{Title: "x", Severity: "critical", Channels: channels})
	if err != nil || r.Ticket.State != store.Notifying {
		t.Fatalf("got %+v, %v", r, err)
	}
	return r.Ticket.Intent
}

func verdict(t *testing.T, e *Engine, a outbox.Attempt, want outbox.Verdict) outbox.Answer {
	t.Helper()
	got, err := e.Attempt(t.Context(), a)
	if err != nil || got.Verdict != want {
		t.Errorf("got verdict %+v, %v, want %d", got, err, want)
	}
	return got
}

func attemptVerdicts(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "verdicts", "t")
	in := notified(t, a, c, "ops")
	id := c.Ticket

	verdict(t, a, attempt(a, id, in, "ops", 1), outbox.Go)
	verdict(t, a, attempt(a, id, in, "ops", 1), outbox.Go) // its reply was lost
	if got := verdict(t, b, attempt(b, id, in, "ops", 1), outbox.Busy); got.Wait <= 0 || got.Wait > time.Minute {
		t.Errorf("wait is %s", got.Wait)
	}
	lease := a.config.Redis.HGet(t.Context(), a.store.Keys.Ticket(id), "lease.ops").Val()
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.ops", time.Now().Add(time.Hour).UnixMilli())
	if got := verdict(t, b, attempt(b, id, in, "ops", 1), outbox.Busy); got.Wait > time.Minute {
		t.Errorf("when Redis' clock was set back it is not asked again for %s", got.Wait)
	}
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.ops", lease)
	verdict(t, b, attempt(b, id, "unheard of", "ops", 1), outbox.Busy) // the ticket has another, which tells the same
	verdict(t, b, attempt(b, id, "unheard of", "other", 1), outbox.Lost)
	verdict(t, a, attempt(a, store.ID("verdicts", "gone"), in, "ops", 1), outbox.Lost)

	if _, err := a.Outcome(t.Context(), outcome(id, in, "ops", 1, outbox.Pending)); err != nil {
		t.Fatal(err)
	}
	verdict(t, b, attempt(b, id, in, "ops", 1), outbox.Go)
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "lease.ops", 1) // it ran out
	verdict(t, a, attempt(a, id, in, "ops", 2), outbox.Go)
	// The outcome of b's attempt comes late: it is not that of a's.
	if _, err := b.Outcome(t.Context(), outcome(id, in, "ops", 1, outbox.Dead)); err != nil {
		t.Fatal(err)
	}
	if ticket, _ := a.Ticket(t.Context(), id); ticket.Delivery["ops"].Status != outbox.Sending {
		t.Errorf("a late outcome made it %s", ticket.Delivery["ops"].Status)
	}
	// An earlier run's own lease is as good as none.
	a.daemon.Run = "the next run"
	verdict(t, a, attempt(a, id, in, "ops", 2), outbox.Go)

	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "intent", "new", "intents", in+" new")
	verdict(t, a, attempt(a, id, in, "ops", 3), outbox.Superseded)
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "intent", in, "delivery.ops", "discarded")
	if got := verdict(t, a, attempt(a, id, in, "ops", 3), outbox.Done); got.Status != outbox.Discarded {
		t.Errorf("status is %s", got.Status)
	}
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(id), "state", string(store.Failed), "delivery.ops", "pending")
	verdict(t, a, attempt(a, id, in, "ops", 3), outbox.Superseded)
}

func onceParks(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "parks", "t")
	in := notified(t, a, c, "pager")
	verdict(t, a, attempt(a, c.Ticket, in, "pager", 1), outbox.Go)
	a.daemon.Run = "the next run"
	verdict(t, a, attempt(a, c.Ticket, in, "pager", 1), outbox.Busy)
	a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(c.Ticket), "lease.pager", 1, "error.pager", "HTTP 500")
	verdict(t, b, attempt(b, c.Ticket, in, "pager", 1), outbox.Park)
	if ticket, _ := a.Ticket(t.Context(), c.Ticket); !strings.Contains(ticket.Delivery["pager"].Error, "HTTP 500") {
		t.Errorf("who decides is told only %q", ticket.Delivery["pager"].Error)
	}
	if got := verdict(t, a, attempt(a, c.Ticket, in, "pager", 1), outbox.Done); got.Status != outbox.Parked {
		t.Errorf("status is %s", got.Status)
	}
	if got := state(t, a, c.Ticket); got != store.Notifying {
		t.Errorf("state is %s: what is parked waits for a person", got)
	}
}

func receiptIsFact(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.host("host-a")

	// Redis fell back to before NOTIFYING: the receipt is told and moves nothing.
	c, _ := claimed(t, a, "fact", "t")
	advance(t, a, c, store.HighRiskFound)
	for range 2 {
		if closed, err := a.Outcome(t.Context(), outcome(c.Ticket, "lost", "ops", 1, outbox.Sent)); err != nil || !closed {
			t.Fatalf("got %v, %v", closed, err)
		}
	}
	ticket, _ := a.Ticket(t.Context(), c.Ticket)
	if ticket.State != store.HighRiskFound || ticket.Delivery["ops"].Status != outbox.Sent {
		t.Errorf("got %s, %+v", ticket.State, ticket.Delivery)
	}
	if names, _ := events(t, a, c.Ticket); names[len(names)-1] != "receipt" || names[len(names)-2] == "receipt" {
		t.Errorf("events are %v, want one receipt", names)
	}
	// A new intent is not settled by a receipt of the lost one.
	in := func() string {
		r, err := a.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "y", Severity: "low", Channels: []string{"ops"}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Ticket.Intent
	}()
	if _, err := a.Outcome(t.Context(), outcome(c.Ticket, "lost", "ops", 1, outbox.Sent)); err != nil {
		t.Fatal(err)
	}
	if got := state(t, a, c.Ticket); got != store.Notifying {
		t.Errorf("another intent's receipt moved it to %s", got)
	}
	// The right one settles, even without an attempt that Redis knows.
	if closed, err := a.Outcome(t.Context(), outcome(c.Ticket, in, "ops", 9, outbox.Sent)); err != nil || !closed {
		t.Errorf("got %v, %v", closed, err)
	}
	if got := state(t, a, c.Ticket); got != store.Notified {
		t.Errorf("state is %s", got)
	}
	// On a ticket that is gone it makes one anew, so that the record never looks as if nothing had been sent.
	gone := store.ID("fact", "gone")
	if _, err := a.Outcome(t.Context(), outcome(gone, "lost", "ops", 1, outbox.Sent)); err != nil {
		t.Fatal(err)
	}
	ticket, err := a.Ticket(t.Context(), gone)
	if err != nil || ticket.State != store.Init || ticket.Delivery["ops"].Status != outbox.Sent {
		t.Errorf("got %+v, %v", ticket, err)
	}
}

// receiptForSome: a mail that the server took for some of its recipients. Who is left out stays on the ticket, and in its history.
func receiptForSome(t *testing.T, s *shared) {
	a := s.fleet(t).host("host-a")
	told := func(task, known string, again int) *store.Ticket {
		t.Helper()
		c, _ := claimed(t, a, "some", task)
		in := notified(t, a, c, "ops")
		deliver(t, a, c.Ticket, "ops", outbox.Pending, outbox.Go) // whose error does not stay
		o := outcome(c.Ticket, in, "ops", 2, outbox.Sent)
		o.Error = known
		for range again {
			if _, err := a.Outcome(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		letGo(t, a, "some")
		ticket, err := a.Ticket(t.Context(), c.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		return &ticket
	}
	const note = "sent, but not to a@example.com: 550 no such user"
	if d := told("all", "", 1).Delivery["ops"]; d.Status != outbox.Sent || d.Error != "" {
		t.Errorf("for all it is %+v", d)
	}
	ticket := told("some", note, 2)
	if d := ticket.Delivery["ops"]; d.Status != outbox.Sent || d.Error != note {
		t.Errorf("for some it is %+v", d)
	}
	history, _, err := a.History(t.Context(), ticket.ID)
	if err != nil {
		t.Fatal(err)
	}
	receipts := 0
	for _, e := range history {
		if e.Event == "receipt" && e.Reason == note {
			receipts++
		}
	}
	if receipts != 1 {
		t.Errorf("the history has it %d times", receipts)
	}
}

func acceptedOnce(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	c, _ := claimed(t, a, "accept", "t")
	in := notified(t, a, c, "ops")
	say := func(e *Engine, c *Claim, title string) (WriteResult, error) {
		return e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: title, Severity: "critical", Channels: []string{"ops"}})
	}
	if r, err := say(a, c, "x"); err != nil || !r.Replayed || r.Ticket.Intent != in {
		t.Errorf("got %+v, %v, want a replay", r, err)
	}
	_, err := say(a, c, "other words")
	wantErr(t, err, ErrContentConflict)
	letGo(t, a, "accept")
	cb, _ := claimed(t, b, "accept", "t")
	// A takeover that writes its own words: the first content stands, and is taken into the own outbox before the 202.
	r, err := say(b, cb, "other words")
	if err != nil || !r.Replayed || r.Ticket.Notification.Title != "x" {
		t.Errorf("got %+v, %v", r, err)
	}
	got, err := b.config.Outbox.Get(outbox.Ref{Ticket: c.Ticket.String(), ID: in})
	if err != nil || got.Origin != outbox.Adopted || string(got.Channels["ops"].Body) != "ops:accept/t:x" {
		t.Errorf("the outbox has %+v, %v", got, err)
	}
	for _, bad := range [][]string{{"nobody"}, {"ops", "nobody"}} {
		_, err := b.Notify(t.Context(), cb.ID, agent, delivery.Request{Title: "x", Severity: "low", Channels: bad})
		wantErr(t, err, delivery.ErrUnknownChannel)
	}
}

func settlesTicket(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	for _, c := range []struct {
		name       string
		ops, pager outbox.Status
		want       store.State
	}{
		{"both", outbox.Sent, outbox.Sent, store.Notified},
		{"one dead", outbox.Sent, outbox.Dead, store.Failed},
		{"all dead", outbox.Dead, outbox.Dead, store.Failed},
		{"one parked", outbox.Sent, outbox.Parked, store.Notifying},
		{"one pending", outbox.Pending, outbox.Sent, store.Notifying},
	} {
		k, _ := claimed(t, e, "settle "+c.name, "t")
		notified(t, e, k, "ops", "pager")
		deliver(t, e, k.Ticket, "ops", c.ops, outbox.Go)
		deliver(t, e, k.Ticket, "pager", c.pager, outbox.Go)
		if got := state(t, e, k.Ticket); got != c.want {
			t.Errorf("%s: state is %s, want %s", c.name, got, c.want)
		}
		_, err := e.Fail(t.Context(), k.ID, agent, FailureRequest{"notify", "x", true})
		if c.want == store.Notifying && err == nil {
			t.Errorf("%s: a final failure left NOTIFYING", c.name)
		}
		if c.want != store.Failed {
			continue
		}
		// What refused is the reason, in the history and for the agent whose finish comes after.
		why := "pager: because"
		if c.ops == outbox.Dead {
			why = "ops: because; pager: because"
		}
		_, err = e.Finish(t.Context(), k.ID, agent, "")
		if refused, ok := errors.AsType[*store.TransitionError](err); !ok || !strings.Contains(refused.Error(), "FAILED ("+why+")") {
			t.Errorf("%s: finish says %v", c.name, err)
		}
		events, _, err := e.History(t.Context(), k.Ticket)
		if last := events[len(events)-1]; err != nil || last.Event != "failed" || last.Reason != why {
			t.Errorf("%s: the history ends with %+v, %v", c.name, last, err)
		}
	}
	// FINISHED when no claim is open: by the release, and by the last receipt.
	k, _ := claimed(t, e, "settle then release", "t")
	notified(t, e, k, "ops")
	deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
	if err := e.Release(t.Context(), k.ID, agent); err != nil || state(t, e, k.Ticket) != store.Finished {
		t.Errorf("released: %s, %v", state(t, e, k.Ticket), err)
	}
	// After an expiry no script runs: the next mint on the asset finishes it.
	k, _ = claimed(t, e, "settle then expire", "t")
	notified(t, e, k, "ops")
	deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
	letGo(t, e, k.Ticket.Asset)
	claimed(t, e, "settle then expire", "u")
	if got := state(t, e, k.Ticket); got != store.Finished {
		t.Errorf("after the next mint it is %s", got)
	}
}
