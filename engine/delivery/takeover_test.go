// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestWhoIsMissedHasTimeToSign: nothing is taken over before every look has missed the sign for long enough.
func TestWhoIsMissedHasTimeToSign(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	var now time.Duration
	c.config.Now = func() time.Duration { return now }
	if err := c.store.KnowDaemon(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	_, patience := c.config.Trust.Patience()
	missed := absent{}
	for _, look := range []struct {
		at    time.Duration
		known bool
	}{{0, true}, {patience - 1, true}, {patience, false}} {
		now = look.at
		if err := c.takeOver(t.Context(), missed); err != nil {
			t.Fatal(err)
		}
		if all, err := c.store.Daemons(t.Context()); err != nil || slices.Contains(all, "gone") != look.known {
			t.Errorf("after %s the daemons are %q, %v", look.at, all, err)
		}
	}
}

// unsteady is a Trust that is asked often, and is not steady until it is said to be.
type unsteady struct {
	trusting
	asked  atomic.Int64
	steady atomic.Bool
}

func (u *unsteady) Steady() bool { u.asked.Add(1); return u.steady.Load() }

func (u *unsteady) Patience() (time.Duration, time.Duration) { return time.Millisecond, 0 }

// TestNobodyIsTakenOverByOneThatIsNotSteady: its own signs may have been missed as those of the others were.
func TestNobodyIsTakenOverByOneThatIsNotSteady(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	trust := &unsteady{}
	c.config.Trust = trust
	if err := c.store.KnowDaemon(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	known := func() bool {
		all, err := c.store.Daemons(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(all, "gone")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.takeOverLoop(ctx)
	}()
	defer func() { stop(); <-ended }()
	for trust.asked.Load() < 20 {
		if !known() {
			t.Fatal("it has taken over from the one that is gone")
		}
	}
	trust.steady.Store(true)
	for end := time.Now().Add(time.Minute); known(); {
		if time.Now().After(end) {
			t.Fatal("one that is steady does not take over")
		}
	}
}

// TestAHintOfTheDeadStaysForAWriteThatMayLand: it comes before the ticket is in NOTIFYING.
func TestAHintOfTheDeadStaysForAWriteThatMayLand(t *testing.T) {
	t.Parallel()
	c, _ := alone(t)
	if err := c.store.AddHint(t.Context(), "gone", "a/t"); err != nil {
		t.Fatal(err)
	}
	if err := c.LookAfter(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if n, err := c.store.Hinted(t.Context(), "gone"); err != nil || n != 1 {
		t.Errorf("%d hints are left, %v", n, err)
	}
}
