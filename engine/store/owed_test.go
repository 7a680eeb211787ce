// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// watched is a Watch of a Redis whose data are known.
type watched struct{ unwatched }

func (watched) Stores() map[string]string { return map[string]string{"store:0": "data"} }

// TestWhatADeadDaemonOwesTheIndexIsMadeGood by a walk, and said until then.
func TestWhatADeadDaemonOwesTheIndexIsMadeGood(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	s.c.Watch = watched{}
	none := func(string, TicketID, Hash, error) {}
	if err := s.Walk(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	incomplete := func() bool {
		page, err := s.Tickets(t.Context(), TicketQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return page.Incomplete
	}
	owe := func(ago time.Duration) {
		z := redis.Z{Score: float64(time.Now().Add(-ago).UnixMilli()), Member: "dead"}
		if err := c.ZAdd(t.Context(), s.Keys.owed(), z).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if owe(owedLong / 2); incomplete() {
		t.Error("a daemon that may yet index it counts as dead")
	}
	if owe(2 * owedLong); !incomplete() {
		t.Error("what a dead daemon owes is not said")
	}
	if due, err := s.BeginWalk(t.Context(), "a"); !due || err != nil {
		t.Errorf("no walk is due: %v", err)
	}
	if err := s.Walk(t.Context(), none); err != nil || incomplete() {
		t.Errorf("it is still owed: %v", err)
	}
}

// TestADaemonOwesUntilItHasIndexed what it wrote.
func TestADaemonOwesUntilItHasIndexed(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	hook := slow{make(chan struct{}), make(chan struct{}), new(sync.Once)}
	c.AddHook(hook)
	s.Touch(ID("a", "t"), stood(Init, 0))
	go func() { defer close(ended); s.KeepIndex(ctx) }()
	owed := func() int64 { return c.ZCard(t.Context(), s.Keys.owed()).Val() }
	<-hook.begun
	if n := owed(); n != 1 {
		t.Errorf("before it has indexed %d daemons owe something", n)
	}
	close(hook.on)
	for limit := time.Now().Add(60 * time.Second); owed() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it owes what it has indexed")
		}
	}
	if in := places(t, c, s, "t", "a"); len(in) != 1 {
		t.Errorf("it owes nothing, and the ticket is in %q", in)
	}
	s.index.mu.Lock()
	s.index.dropped = true
	s.index.mu.Unlock()
	s.owe(t.Context())
	s.Touch(ID("b", "t"), stood(Init, 0))
	end()
	<-ended
	if n := owed(); n != 1 {
		t.Errorf("it has dropped some of what it owed, and owes %d", n)
	}
	if in := places(t, c, s, "t", "b"); len(in) != 1 {
		t.Errorf("it has ended, and the ticket is in %q", in)
	}
}
