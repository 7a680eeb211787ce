// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// trusting is a Trust, and a store's Watch, that rely on everything.
type trusting struct{}

func (trusting) Identity() error                                 { return nil }
func (trusting) Steady() bool                                    { return true }
func (trusting) Unbroken(time.Time) bool                         { return true }
func (trusting) Stood(time.Time) bool                            { return true }
func (trusting) Overdue(context.Context) ([]store.Silent, error) { return nil, context.Canceled }
func (trusting) Token(store.Asset) int64                         { return 0 }
func (trusting) Found(store.Asset, int64, int64)                 {}
func (trusting) Wrote(string, int64)                             {}
func (trusting) Stores() map[string]string                       { return nil }

// alone is a courier over a Redis of its own, with nothing else of a daemon.
func alone(t *testing.T) (*Courier, *redis.Client) {
	t.Helper()
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	c, log := redistest.Start(t).Client(), slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := store.New(store.Config{
		Redis: c, Urgent: c, Prefix: "picket", Host: "host-a", Keep: time.Hour, KeepGrants: time.Hour, Watch: trusting{},
		Audit: func(audit.Event) {}, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	courier := New(Config{
		Store: s, Outbox: box, Daemon: &store.Daemon{ID: box.ID(), Run: "run", Host: "host-a"}, Trust: trusting{}, Now: process.Boottime, Logger: log,
		Bounded: func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
	})
	return courier, c
}

// stage stages an intent whose NOTIFYING write never comes.
func stage(t *testing.T, c *Courier, id store.TicketID, intent string) {
	t.Helper()
	err := c.box.Stage(outbox.Intent{
		Ref: outbox.Ref{Ticket: id.String(), ID: intent}, Asset: string(id.Asset), Task: id.Task, Run: 1, Key: id.Key(1), At: time.Now(),
		Channels: map[string]outbox.Delivery{"ops": {Type: "webhook", Body: []byte("b"), Status: outbox.Pending, Due: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFloodedTicketHoldsUpNoOther: what became of staged intents is found out whatever calls wait on another ticket.
func TestFloodedTicketHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	for i := range 2 * atOnce {
		stage(t, c, store.ID("flooded", "t"), fmt.Sprint("f", i))
	}
	stage(t, c, store.ID("other", "t"), "o")
	leave, err := c.calls.enter(t.Context(), "flooded/t") // a call that does not end
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if err := c.FollowStaged(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := c.box.Ticket("other/t"); err != nil || len(left) > 0 {
		t.Errorf("the other ticket's intent is still staged: %v, %v", left, err)
	}
}

// TestHeedingGoesRound: with more to send than one round asks about, each has its turn, and what is due soon has it always.
func TestHeedingGoesRound(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	const many = heedMost + 50
	for i := range many {
		id := store.ID(store.Asset(fmt.Sprintf("many-%d", i)), "t")
		in := outbox.Intent{
			Ref: outbox.Ref{Ticket: id.String(), ID: fmt.Sprint("in", i)}, Asset: string(id.Asset), Task: id.Task, Run: 1, At: time.Now(),
			Channels: map[string]outbox.Delivery{"ops": {Type: "webhook", Due: time.Now().Add(time.Hour)}},
		}
		ticket := raw.HSet(t.Context(), c.store.Keys.Ticket(id), "state", string(store.Notifying), "run", "1", "intent", in.ID, "intents", in.ID, "owner", c.box.ID())
		if err := errors.Join(c.box.Stage(in), c.box.Commit(in.Ref), ticket.Err()); err != nil {
			t.Fatal(err)
		}
	}
	var next []byte
	for round, want := range []int{heedMost, many, many} {
		var err error
		if next, err = c.Heed(t.Context(), next); err != nil || len(c.current.at) != want {
			t.Errorf("after round %d %d of %d are confirmed, %v", round, len(c.current.at), many, err)
		}
	}
}

// TestASweepTakesNothingOfAnotherOwner: a hint may outlive the ownership that it was put for.
func TestASweepTakesNothingOfAnotherOwner(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	c.config.Channels = []Channel{{Name: "ops", Type: "webhook"}}
	c.config.Render = func(string, Message) ([]byte, error) { return []byte("b"), nil }
	for owner, want := range map[string]int{"another": 0, c.box.ID(): 1} {
		id := store.ID(store.Asset("of "+owner), "t")
		ticket := raw.HSet(t.Context(), c.store.Keys.Ticket(id), "state", string(store.Notifying), "run", "1", "intent", "in",
			"intents", "in", "owner", owner, "notification", `{}`, "delivery.ops", "pending", "type.ops", "webhook")
		if err := errors.Join(ticket.Err(), c.store.AddHint(t.Context(), c.box.ID(), id), c.Sweep(t.Context())); err != nil {
			t.Fatal(err)
		}
		if all, err := c.box.Ticket(id.String()); err != nil || len(all) != want {
			t.Errorf("of a ticket of %s the outbox has %+v, %v", owner, all, err)
		}
	}
}

// TestASweepTellsANewRunNothingOfTheOld: an intent is open still, with one of its receipts recorded, and the ticket has another.
func TestASweepTellsANewRunNothingOfTheOld(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	id := store.ID("a", "t")
	stage(t, c, id, "old")
	ref := outbox.Ref{Ticket: id.String(), ID: "old"}
	sent := outbox.Outcome{Ref: ref, Asset: "a", Task: "t", Run: 1, Key: id.Key(1), Channel: "ops", Number: 1, Status: outbox.Sent, At: time.Now()}
	key := c.store.Keys.Ticket(id)
	ticket := raw.HSet(t.Context(), key, "state", string(store.Notifying), "run", "2", "intent", "new", "intents", "new",
		"owner", c.box.ID(), "delivery.ops", "pending", "type.ops", "webhook")
	if err := errors.Join(c.box.Commit(ref), c.box.Record(sent, time.Now(), false), c.box.Recorded(ref, "ops"), ticket.Err()); err != nil {
		t.Fatal(err)
	}
	before := raw.HGetAll(t.Context(), key).Val()
	if err := errors.Join(c.store.AddHint(t.Context(), c.box.ID(), id), c.Sweep(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after := raw.HGetAll(t.Context(), key).Val(); !maps.Equal(before, after) {
		t.Errorf("the ticket was %v, and is %v", before, after)
	}
}

// TestG9_ASweepLooksAtEachIntentOfATicket: an older one, which Redis lost, is open for a person, or on a channel that is here no more. The
// ticket's own has a channel that is here no more, and one whose receipt the ticket lost in a failover.
func TestG9_ASweepLooksAtEachIntentOfATicket(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	c.config.Channels = []Channel{{Name: "ops", Type: "webhook"}, {Name: "slow", Type: "webhook"}}
	in := func(ref outbox.Ref, id store.TicketID, channels ...string) {
		t.Helper()
		in := outbox.Intent{Ref: ref, Asset: string(id.Asset), Task: id.Task, Run: 1, Key: id.Key(1), At: time.Now(), Channels: map[string]outbox.Delivery{}}
		for _, channel := range channels {
			in.Channels[channel] = outbox.Delivery{Type: "webhook", Due: time.Now()}
		}
		if err := errors.Join(c.box.Stage(in), c.box.Commit(ref)); err != nil {
			t.Fatal(err)
		}
	}
	for _, older := range []string{"parked", "gone"} {
		for _, own := range []string{"ops", "gone"} {
			id := store.ID(store.Asset(older+" and "+own), "t")
			lost, ref := outbox.Ref{Ticket: id.String(), ID: older + own + "1"}, outbox.Ref{Ticket: id.String(), ID: older + own + "2"}
			in(lost, id, older)
			if older == "parked" {
				if err := c.box.Keep(outbox.Outcome{Ref: lost, Channel: older, At: time.Now(), Error: "lost"}); err != nil {
					t.Fatal(err)
				}
			}
			in(ref, id, own, "slow")
			sent := outbox.Outcome{Ref: ref, Asset: string(id.Asset), Task: "t", Run: 1, Key: id.Key(1), Channel: "ops", Number: 1, Status: outbox.Sent, At: time.Now()}
			if own == "ops" {
				if err := errors.Join(c.box.Record(sent, time.Now(), false), c.box.Recorded(ref, "ops")); err != nil {
					t.Fatal(err)
				}
			}
			ticket := raw.HSet(t.Context(), c.store.Keys.Ticket(id), "state", string(store.Notifying), "run", "1", "token", "1", "revision", "1", "intent", ref.ID, "intents", ref.ID,
				"owner", c.box.ID(), "notification", `{}`, "delivery."+own, "pending", "type."+own, "webhook", "delivery.slow", "pending", "type.slow", "webhook")
			if err := errors.Join(ticket.Err(), c.store.AddHint(t.Context(), c.box.ID(), id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, older := range []string{"parked", "gone"} {
		for own, field := range map[string]string{"ops": "delivery.ops", "gone": "owner"} {
			id := store.ID(store.Asset(older+" and "+own), "t")
			want := map[string]string{"ops": "sent", "gone": store.Offered}[own]
			if got := raw.HGet(t.Context(), c.store.Keys.Ticket(id), field).Val(); got != want {
				t.Errorf("%s: the ticket's %s is %q, not %q", id, field, got, want)
			}
		}
	}
}

// TestWhatIsStagedIsNotWaitedForWithoutEnd: the write of a retry whose ticket stands as it did may land, but not after an hour.
func TestWhatIsStagedIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	seen := &store.Snapshot{Hash: store.Hash{"state": string(store.Failed), "intent": "x"}}
	if in := (outbox.Intent{After: "x", At: time.Now()}); comeToNothing(in, seen) {
		t.Error("it is not waited for")
	}
	if in := (outbox.Intent{After: "x", At: time.Now().Add(-lateWrite - time.Minute)}); !comeToNothing(in, seen) {
		t.Error("it is waited for without end")
	}
}

// TestARoundReadsTheSetsOfHintsThatHaveSome: those that had one at the last look, or were given one here. Every so many rounds, all.
func TestARoundReadsTheSetsOfHintsThatHaveSome(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	ids := map[int]store.TicketID{} // of each set
	for i := 0; len(ids) < 3; i++ {
		id := store.ID(store.Asset(fmt.Sprint(i)), "t")
		ids[store.HintShard(id.Asset)] = id
	}
	at := slices.Collect(maps.Keys(ids))
	put := func(shard int, elsewhere bool) {
		t.Helper()
		err := c.hint(t.Context(), c.store.AddHint, c.box.ID(), ids[shard])
		if elsewhere {
			c.hinted[shard].Store(false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func(want int64) {
		t.Helper()
		if n, err := c.store.Hinted(t.Context(), c.box.ID()); err != nil || n != want {
			t.Errorf("%d hints are left, want %d: %v", n, want, err)
		}
	}
	put(at[0], false) // of tickets that are gone: who looks at them drops them
	put(at[1], true)
	if err := c.sweepSome(t.Context()); err != nil {
		t.Fatal(err)
	}
	left(1)
	if err := c.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	left(0)
	stage(t, c, ids[at[2]], "may land yet")
	put(at[2], true)
	if err := errors.Join(c.Sweep(t.Context()), c.box.Drop(outbox.Ref{Ticket: ids[at[2]].String(), ID: "may land yet"})); err != nil {
		t.Fatal(err)
	}
	left(1)
	if err := c.sweepSome(t.Context()); err != nil { // it had one at the last look
		t.Fatal(err)
	}
	left(0)
}
