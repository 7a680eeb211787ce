// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestG9_ARetiredHostsNotificationsFindOthers: refused while it lives, or while nobody can tell; then what it answered for is taken over
// or offered at once, nothing is left of it, and it is in the audit. If it comes back, it signs anew.
func TestG9_ARetiredHostsNotificationsFindOthers(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, told := f.frozen("host-a"), &auditLog{}
	b := f.hurriedWith("host-b", func(c *Config) { c.Channels, c.Audit = channels[:1], told.add })
	both, _ := claimed(t, a, "both", "t")
	notified(t, a, both, "ops", "pager")
	one, _ := claimed(t, a, "one", "t")
	in := notified(t, a, one, "ops")
	if err := a.lookout.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	retire := func() error {
		_, _, err := b.Retire(t.Context(), a.daemon.ID, "1/0", "it burned down")
		return err
	}
	wantErr(t, retire(), ErrHostAlive)
	long := redis.Z{Score: float64(time.Now().Add(-time.Hour).UnixMilli()), Member: a.daemon.ID}
	if !b.lookout.Steady() {
		f.client.ZAdd(t.Context(), a.store.Keys.Left(), long)
		f.client.ZRem(t.Context(), a.store.Keys.Signs(), a.daemon.ID)
		wantErr(t, retire(), ErrHostUnsure)
	}
	eventually(t, "host-b may judge", b.lookout.Steady)
	eventually(t, "host-a may be taken for gone", func() bool { return retire() == nil })
	if !has(b, one.Ticket, in) || ticketOf(t, b, one.Ticket).Owner != b.daemon.ID {
		t.Errorf("the one that can be delivered is %s's", ticketOf(t, b, one.Ticket).Owner)
	}
	if owner := ticketOf(t, b, both.Ticket).Owner; owner != "offered" || !hinted(t, b, "offered", both.Ticket) {
		t.Errorf("the other is %s's", owner)
	}
	if n, err := b.store.Hinted(t.Context(), a.daemon.ID); err != nil || n != 0 {
		t.Errorf("%d hints are left, %v", n, err)
	}
	wantErr(t, retire(), ErrHostNotFound)
	if !slices.Contains(told.moves(), "retired  ") {
		t.Error("the audit does not have it")
	}
	if err := a.lookout.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, retire(), ErrHostAlive)
}
