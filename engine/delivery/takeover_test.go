// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"slices"
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
