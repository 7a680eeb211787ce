// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/store"
)

// members are the daemons that Redis knows of, and whether each has left.
func members(t *testing.T, c *Courier) map[string]bool {
	t.Helper()
	all, err := c.store.Fleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, m := range all {
		left[m.ID] = m.Left
	}
	return left
}

// TestWhoAnswersForNothingLeaves: hosts that come and go pile nothing up; one that has a hint stays, and so does one that signed since.
func TestWhoAnswersForNothingLeaves(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	now := time.Now().UnixMilli()
	day := forgetAfter.Milliseconds()
	signed := map[string]int64{"gone": now - day - 1000, "lately": now - day/2, "answers": now - day - 1000, "back": now}
	for id, at := range signed {
		raw.ZAdd(t.Context(), c.store.Keys.Signs(), redis.Z{Score: float64(at), Member: id})
		raw.HSet(t.Context(), c.store.Keys.Host(id), "label", id)
	}
	if err := c.store.AddHint(t.Context(), "answers", store.ID("a", "t")); err != nil {
		t.Fatal(err)
	}
	for id, at := range signed {
		if id == "back" {
			at -= 1000 // the look was before it came back
		}
		if err := c.takeOver(t.Context(), []store.Silent{{ID: id, At: strconv.FormatInt(at, 10)}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := members(t, c), map[string]bool{"gone": true, "lately": true, "answers": false, "back": false}; !maps.Equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
	if err := c.store.AddHint(t.Context(), "lately", store.ID("b", "t")); err != nil { // nobody watches it any more
		t.Fatal(err)
	}
	raw.ZAdd(t.Context(), c.store.Keys.Left(), redis.Z{Score: float64(now - day - 1000), Member: "lately"})
	if err := c.Walk(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := members(t, c)
	if _, known := got["gone"]; known || raw.Exists(t.Context(), c.store.Keys.Host("gone")).Val() != 0 {
		t.Errorf("who is gone for a day is among %v", got)
	}
	if got["lately"] || len(got) != 3 {
		t.Errorf("of those that answer for something are left: %v", got)
	}
}

// TestAnOfferThatComesWhileTheLastOneGoes is looked at.
func TestAnOfferThatComesWhileTheLastOneGoes(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	if err := c.store.Know(t.Context(), store.Offered); err != nil {
		t.Fatal(err)
	}
	if err := c.LookAfter(t.Context(), store.Silent{ID: store.Offered, At: "1"}); err != nil {
		t.Fatal(err)
	}
	if n := raw.ZCard(t.Context(), c.store.Keys.Signs()).Val(); n != 0 {
		t.Errorf("%d are watched though nothing is offered", n)
	}
	if err := errors.Join(c.store.AddHint(t.Context(), store.Offered, store.ID("a", "t")), c.rest(t.Context(), store.Silent{ID: store.Offered, At: "1"})); err != nil {
		t.Fatal(err)
	}
	if n := raw.ZCard(t.Context(), c.store.Keys.Signs()).Val(); n != 1 {
		t.Error("an offer is left that nobody looks at")
	}
}

// unsteady is a Trust that tells of one that is gone, and is not steady until it is said to be.
type unsteady struct {
	trusting
	asked  atomic.Int64
	steady atomic.Bool
}

func (u *unsteady) Steady() bool { u.asked.Add(1); return u.steady.Load() }

func (u *unsteady) Overdue(ctx context.Context) ([]store.Silent, error) {
	return []store.Silent{{ID: "gone", At: "1"}}, ctx.Err()
}

// TestNobodyIsTakenOverByOneThatIsNotSteady: its own signs may have been missed as those of the others were.
func TestNobodyIsTakenOverByOneThatIsNotSteady(t *testing.T) {
	t.Parallel()
	c, raw := alone(t)
	trust := &unsteady{}
	c.config.Trust = trust
	raw.ZAdd(t.Context(), c.store.Keys.Signs(), redis.Z{Score: 1, Member: "gone"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.takeOverLoop(ctx)
	}()
	defer func() { stop(); <-ended }()
	for trust.asked.Load() < 20 {
		if members(t, c)["gone"] {
			t.Fatal("it has taken over from the one that is gone")
		}
	}
	trust.steady.Store(true)
	for end := time.Now().Add(time.Minute); !members(t, c)["gone"]; {
		if time.Now().After(end) {
			t.Fatal("one that is steady does not take over")
		}
	}
}

// TestAHintOfTheDeadStaysForAWriteThatMayLand: it comes before the ticket is in NOTIFYING.
func TestAHintOfTheDeadStaysForAWriteThatMayLand(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	if err := c.store.AddHint(t.Context(), "gone", store.ID("a", "t")); err != nil {
		t.Fatal(err)
	}
	if err := c.LookAfter(t.Context(), store.Silent{ID: "gone"}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.store.Hinted(t.Context(), "gone"); err != nil || n != 1 {
		t.Errorf("%d hints are left, %v", n, err)
	}
}
