// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestG9_WhoHasAReceiptPutsItBackAfterAFailover(t *testing.T) { everywhere(t, putsBack) }

// stand keeps a ticket and its log as they are, and brings them back as a failover does to a replica that lags.
func stand(t *testing.T, e *Engine, id store.TicketID) (back func()) {
	t.Helper()
	keys := []string{e.store.Keys.Ticket(id), e.store.Keys.Log(id)}
	var dumps []string
	for _, key := range keys {
		dumps = append(dumps, e.config.Redis.Dump(t.Context(), key).Val())
	}
	return func() {
		t.Helper()
		for i, key := range keys {
			if err := e.config.Redis.RestoreReplace(t.Context(), key, 0, dumps[i]).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sentHere has a host deliver its intent on a channel as its notifier does.
func sentHere(t *testing.T, e *Engine, id store.TicketID, in, channel string) {
	t.Helper()
	deliver(t, e, id, channel, outbox.Sent, outbox.Go)
	if err := e.config.Outbox.Record(outcome(id, in, channel, 1, outbox.Sent), time.Now(), true); err != nil {
		t.Fatal(err)
	}
}

// putsBack: a partial adopter that is done, and an owner that has another channel to go, tell a ticket that fell back what they sent.
func putsBack(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.hurried("host-a")
	c, _ := claimed(t, a, "fell back", "t")
	in := notified(t, a, c, "ops", "pager")
	_ = a.Stop(t.Context())
	b := f.hurried("host-b", channels[0])
	eventually(t, "host-b has the intent", func() bool { return has(b, c.Ticket, in) })
	back := stand(t, b, c.Ticket)
	sentHere(t, b, c.Ticket, in, "ops")
	if err := b.config.Outbox.Shut(outbox.Ref{Ticket: c.Ticket.String(), ID: in}, "ops"); err != nil {
		t.Fatal(err)
	}
	back()
	sent := func(id store.TicketID) func() bool {
		return func() bool { return ticketOf(t, b, id).Delivery["ops"].Status == outbox.Sent }
	}
	eventually(t, "the partial adopter put its receipt back", sent(c.Ticket))

	o := f.frozen("host-o")
	k, _ := claimed(t, o, "of the owner", "t")
	in = notified(t, o, k, "ops", "pager")
	back = stand(t, o, k.Ticket)
	sentHere(t, o, k.Ticket, in, "ops")
	back()
	if err := o.courier.Sweep(t.Context()); err != nil || !sent(k.Ticket)() {
		t.Errorf("the owner has a receipt that the ticket lacks: %v", err)
	}
}

// TestG9_AFullHostOwnsNothing that it cannot keep, so that another host delivers what the one that is gone had accepted.
func TestG9_AFullHostOwnsNothing(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a := f.hurried("host-a")
	intents := map[store.TicketID]string{}
	for i := range 5 {
		c, _ := claimed(t, a, fmt.Sprintf("full-%d", i), "t")
		intents[c.Ticket] = notified(t, a, c, "ops")
	}
	_ = a.Stop(t.Context())
	b := f.frozen("host-b", boxAt(t, filepath.Join(t.TempDir(), "small.db"), outbox.Options{MaxSize: 64 << 10}))
	fillUp(t, b.config.Outbox)
	b.lookout.Pace = lookout.Pace{Every: hurry.Every, Life: hurry.Life, Missed: 2 * hurry.Every}
	b.Start()
	eventually(t, "host-b found that it has no room", func() bool { return b.config.Outbox.Full() != nil && b.lookout.Steady() })
	time.Sleep(hurry.Life + 4*hurry.Every) // it looked after host-a, too
	d := f.hurried("host-d")
	for id, in := range intents {
		eventually(t, "the one with room has it", func() bool { return has(d, id, in) })
		if owner := ticketOf(t, d, id).Owner; owner == b.config.Outbox.ID() {
			t.Errorf("%s is owned by the one that cannot keep it", id)
		}
	}
}

// fillUp leaves no room in an outbox.
func fillUp(t *testing.T, box *outbox.Store) {
	t.Helper()
	for i, size := 0, 4000; size > 0; i++ {
		filler := outbox.Ref{Ticket: "z/z", ID: fmt.Sprint("filler", i)}
		err := box.Adopt(outbox.Intent{Ref: filler, Asset: "z", Task: "z", Content: make([]byte, size)})
		if err != nil && !errors.Is(err, outbox.ErrFull) {
			t.Fatal(err)
		}
		if err != nil {
			size /= 4
		}
	}
}

func ticketOf(t *testing.T, e *Engine, id store.TicketID) store.Ticket {
	t.Helper()
	ticket, err := e.Ticket(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// TestG10_ATicketThatIsBackIsToldWhatItsRunSettled under whatever intent: of a retry that it has lost, and of one that a person made in the
// outbox while the ticket was gone. While that one waits to be sent, the ticket is parked.
func TestG10_ATicketThatIsBackIsToldWhatItsRunSettled(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	for _, c := range []struct {
		name       string
		gone, sent bool // when it was retried; when the ticket is back
		want       outbox.Status
	}{
		{"a retry on the ticket", false, true, outbox.Sent},
		{"a retry here", true, true, outbox.Sent},
		{"a retry here that waits", true, false, outbox.Parked},
	} {
		k, _ := claimed(t, e, c.name, "t")
		id := k.Ticket
		first := outbox.Ref{Ticket: id.String(), ID: notified(t, e, k, "pager")}
		letGo(t, e, id.Asset)
		o := outcome(id, first.ID, "pager", 1, outbox.Parked)
		back := stand(t, e, id)
		if c.gone {
			lose(t, e, id)
			if err := e.config.Outbox.Keep(o); err != nil {
				t.Fatal(err)
			}
		} else {
			_, err := e.Outcome(t.Context(), o)
			if err := errors.Join(err, e.config.Outbox.Record(o, time.Now(), true)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Retry(t.Context(), delivery.Resolution{Ticket: id, By: "1/0", Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		intents, err := e.config.Outbox.Ticket(id.String())
		if err != nil || len(intents) != 2 {
			t.Fatalf("%s: there are %d intents, %v", c.name, len(intents), err)
		}
		again := intents[0].Ref
		if again == first {
			again = intents[1].Ref
		}
		if c.sent {
			o := outcome(id, again.ID, "pager", 1, outbox.Sent)
			if err := errors.Join(e.config.Outbox.Record(o, time.Now(), true), e.config.Outbox.Shut(again)); err != nil {
				t.Fatal(err)
			}
		}
		back()
		round(t, e)
		ticket := ticketOf(t, e, id)
		if got := ticket.Delivery["pager"].Status; got != c.want || ticket.State == store.Failed {
			t.Errorf("%s: the ticket is %s, and pager %s", c.name, ticket.State, got)
		}
		if c.sent {
			continue
		}
		in, err := e.config.Outbox.Get(again)
		if got := verdict(t, e, attempt(e, id, again.ID, "pager", 1), outbox.Done); got.Status != c.want || err != nil || len(in.Content) == 0 {
			t.Errorf("%s: it is told %+v, %v", c.name, got, err)
		}
	}
}
