// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine/store"
)

// TestG5_AnEndThatIsUnderWayIsNotToldAsLost: the trust runs out while a finish is on its way to Redis. What became of it is asked when it
// has its answer, not before it lands.
func TestG5_AnEndThatIsUnderWayIsNotToldAsLost(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { c.Audit = told.add })
	k, _ := claimed(t, e, "x", "t")
	if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	over := e.endCall(c)
	c.setFinishing(true)
	if err := c.writes.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.conclude(c, ReasonExpired)
	ask, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	wantErr(t, e.resolveEnd(ask, c), store.ErrUnavailable)
	by := c.writer()
	by.Number = c.number + 1
	if _, err := e.store.WriteClaim(t.Context(), c.ticket, by, e.store.Finish(c.flow, "done"), ""); err != nil {
		t.Fatal(err)
	}
	over()
	c.writes.Leave()
	eventually(t, "it is known to have ended", func() bool {
		v, err := e.GetClaim(k.ID, agent)
		return err == nil && v.Reason == ReasonReleased
	})
	if _, err := e.Finish(t.Context(), k.ID, agent, "done"); err != nil {
		t.Errorf("again: %v", err)
	}
	told.neverLost(t)
}

// TestAReleaseThatWaitsHearsThatTheClaimIsLost: it was told as lost while the release waited behind another write. What was told stays.
func TestAReleaseThatWaitsHearsThatTheClaimIsLost(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a")
	k, _ := claimed(t, e, "x", "t")
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.writes.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- e.Release(t.Context(), k.ID, agent) }()
	eventually(t, "the release waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ending
	})
	e.conclude(c, ReasonExpired)
	e.noteEnd(c, false)
	c.writes.Leave()
	wantLost(t, <-got, ReasonExpired)
	if names, _ := events(t, e, k.Ticket); slices.Contains(names, "released") {
		t.Errorf("the history is %q", names)
	}
}
