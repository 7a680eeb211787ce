// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// signer gives signs of life as one daemon does, and puts those of others.
type signer struct {
	*Store
	raw *redis.Client
	Sign
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	return &signer{over(t, c), c, Sign{
		Daemon: Daemon{ID: "me", Run: "run", Host: "host-a", Channels: "ops:webhook"}, Life: 25 * time.Second, Late: 35 * time.Second, Most: 3,
		Turn: time.Minute,
	}}
}

// signs gives one, and has the next one know of it.
func (s *signer) signs(t *testing.T) Answer {
	t.Helper()
	a, rival, err := s.Store.Sign(t.Context(), s.Sign)
	if err != nil || rival != nil {
		t.Fatal(rival, err)
	}
	s.At = a.At
	return a
}

// put has a daemon have signed so long ago.
func (s *signer) put(t *testing.T, id string, ago time.Duration) {
	t.Helper()
	if err := s.raw.ZAdd(t.Context(), s.Keys.Signs(), redis.Z{Score: float64(time.Now().Add(-ago).UnixMilli()), Member: id}).Err(); err != nil {
		t.Fatal(err)
	}
}

func (s *signer) age(t *testing.T, id string) time.Duration {
	t.Helper()
	score, err := s.raw.ZScore(t.Context(), s.Keys.Signs(), id).Result()
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(time.UnixMilli(int64(score)))
}

// TestASignIsKeptOnlyIfItStandsAsItWasLeft: not the first, nor one that ran out, was lost, is older, of another run, or still to come.
func TestASignIsKeptOnlyIfItStandsAsItWasLeft(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	for _, c := range []struct {
		name   string
		before func()
		kept   bool
	}{
		{"the first", func() {}, false},
		{"the second", func() {}, true},
		{"one whose answer was lost", func() { _, _, _ = s.Store.Sign(t.Context(), s.Sign) }, true},
		{"after a loss", func() { s.raw.FlushAll(t.Context()) }, false},
		{"after one that is older", func() { s.put(t, "me", time.Second) }, false},
		{"after it ran out", func() { s.At = "1"; s.put(t, "me", s.Life) }, false},
		{"when Redis' clock went back", func() { s.put(t, "me", -time.Minute) }, false},
		{"when the last was another run's", func() { s.Run, s.At = "next", "" }, false},
	} {
		c.before()
		if got := s.signs(t).Kept; got != c.kept {
			t.Errorf("%s: kept is %v", c.name, got)
		}
	}
}

// TestOnlyTheOverdueAreTold, to one of those with the same channels at a time, and not to one whose own sign was lost.
func TestOnlyTheOverdueAreTold(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	s.put(t, "dead", s.Late+time.Second)
	s.put(t, "late", s.Late-10*time.Second)
	if a := s.signs(t); len(a.Overdue) != 0 {
		t.Errorf("with its first sign it is told of %v", a.Overdue)
	}
	s.Most = 0
	if a := s.signs(t); len(a.Overdue) != 0 {
		t.Errorf("who does not ask is told of %v", a.Overdue)
	}
	s.Most = 3
	if a := s.signs(t); len(a.Overdue) != 1 || a.Overdue[0].ID != "dead" {
		t.Errorf("told of %v", a.Overdue)
	} else if left, err := s.Rest(t.Context(), Silent{"dead", a.Overdue[0].At}); !left || err != nil {
		t.Errorf("it cannot leave: %v", err)
	}
	s.put(t, "dead", s.Late+time.Second)
	if a := s.signs(t); len(a.Overdue) != 0 {
		t.Errorf("told again of %v", a.Overdue)
	}
	s.Channels = "pager:mail"
	if a := s.signs(t); len(a.Overdue) != 1 {
		t.Errorf("with other channels told of %v", a.Overdue)
	}
	s.Turn = time.Millisecond // what stands there for longer was of another clock
	if a := s.signs(t); len(a.Overdue) != 1 {
		t.Errorf("after its turn told of %v", a.Overdue)
	}
}

// TestAllThatAreOverdueHaveTheirTurn, however few are told of at a time.
func TestAllThatAreOverdueHaveTheirTurn(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	s.signs(t)
	for i := range 12 {
		s.put(t, fmt.Sprint("dead-", i), s.Late+time.Minute)
	}
	s.Turn = 0
	seen := map[string]bool{}
	for deadline := time.Now().Add(time.Minute); len(seen) < 12 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		a := s.signs(t)
		if len(a.Overdue) > s.Most {
			t.Fatalf("told of %d at once", len(a.Overdue))
		}
		for _, one := range a.Overdue {
			seen[one.ID] = true
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %v were looked after", seen)
	}
}

// TestAClockThatWasSetBackHidesNoDead: their signs are of a time that is still to come.
func TestAClockThatWasSetBackHidesNoDead(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	s.signs(t)
	s.put(t, "dead", -time.Hour)
	s.put(t, "me", -time.Hour)
	if s.signs(t); s.age(t, "dead") < 0 {
		t.Error("it would not be overdue for an hour")
	}
}

// TestWhoComesBackSignsAnew: after it left, after it was forgotten, and after the walk knew it again.
func TestWhoComesBackSignsAnew(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	for name, leave := range map[string]func(Silent) (bool, error){
		"rest":   func(gone Silent) (bool, error) { return s.Rest(t.Context(), gone) },
		"forget": func(gone Silent) (bool, error) { return s.Forget(t.Context(), gone) },
	} {
		at := s.signs(t).At
		if left, err := leave(Silent{"me", strconv.Itoa(1)}); left || err != nil {
			t.Errorf("%s: left though it signed since: %v", name, err)
		}
		if left, err := leave(Silent{"me", at}); !left || err != nil {
			t.Errorf("%s: %v, %v", name, left, err)
		}
		if a := s.signs(t); a.Kept || s.raw.ZCard(t.Context(), s.Keys.Left()).Val() != 0 {
			t.Errorf("%s: %+v, and it is among those that left", name, a)
		}
		members, err := s.Fleet(t.Context())
		if err != nil || len(members) != 1 || members[0].Host != "host-a" || members[0].Left || members[0].Quiet > time.Minute {
			t.Errorf("%s: the fleet is %+v, %v", name, members, err)
		}
	}
	for _, id := range []string{"lost", Offered} {
		if err := s.Know(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if a := s.signs(t); len(a.Overdue) != 1 || a.Overdue[0].ID != Offered {
		t.Errorf("one that is known again has no time to sign, or what is offered has to wait: %v", a.Overdue)
	}
	if ago := s.age(t, "lost"); ago < s.Life || ago > s.Late {
		t.Errorf("it counts as silent for %s", ago)
	}
	if err := s.Know(t.Context(), "me"); err != nil || s.age(t, "me") > time.Minute {
		t.Errorf("who signs is made overdue: %v", err)
	}
}
