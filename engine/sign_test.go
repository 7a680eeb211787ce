// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/outbox"
)

// boxAt opens an outbox for a config.
func boxAt(t *testing.T, path string, o outbox.Options) func(*Config) {
	t.Helper()
	box, err := outbox.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return func(c *Config) { c.Outbox = box }
}

func hasSigned(e *Engine) func() bool {
	return func() bool {
		key := e.store.Keys.Host(e.daemon.ID)
		return e.config.Redis.HGet(context.Background(), key, "instance").Val() == e.daemon.Run
	}
}

// TestG10_ACloneIsOneThatSignsAgain: the one that was there first finds the other's sign renewed, says which process that is, and
// neither accepts nor sends until the other has stopped.
func TestG10_ACloneIsOneThatSignsAgain(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	a := f.hurriedWith("host-a", boxAt(t, path, outbox.Options{}))
	c, _ := claimed(t, a, "cloned", "t")
	in := notified(t, a, c, "ops")
	eventually(t, "host-a signed", hasSigned(a))
	disk, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".copy", disk, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := f.hurriedWith("host-b", boxAt(t, path+".copy", outbox.Options{}))
	want := fmt.Sprintf("process %d on host host-b runs with a copy of this outbox.db", os.Getpid())
	eventually(t, "host-a noticed", func() bool { err := a.Identity(); return err != nil && strings.HasPrefix(err.Error(), want) })
	if _, err := a.Attempt(t.Context(), attempt(a, c.Ticket, in, "ops", 1)); !errors.Is(err, lookout.ErrCloned) || errors.Is(err, outbox.ErrAway) {
		t.Errorf("an attempt is answered %v", err)
	}
	_, err = a.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "critical", Channels: []string{"ops"}})
	wantErr(t, err, outbox.ErrUnavailable)
	_, err = a.Retry(t.Context(), delivery.Resolution{Ticket: c.Ticket, By: "1/0", Reason: "again"})
	wantErr(t, err, outbox.ErrUnavailable)
	time.Sleep(2 * a.lookout.Pace.Missed)
	if got := a.config.Redis.HGet(t.Context(), a.store.Keys.Host(a.config.Outbox.ID()), "instance").Val(); got != b.daemon.Run || b.Identity() != nil || a.Identity() == nil {
		t.Errorf("the sign is that of %s; host-b says %v", got, b.Identity())
	}
	_ = b.Stop(context.Background())
	eventually(t, "host-a goes on", func() bool { return a.Identity() == nil })
	verdict(t, a, attempt(a, c.Ticket, in, "ops", 1), outbox.Go)
}

// TestG9_AnOwnFormerRunIsNoClone: a failover, or an older dump, brings back the sign of the run before. It is not alive.
func TestG9_AnOwnFormerRunIsNoClone(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	first := f.hurriedWith("host-a", boxAt(t, path, outbox.Options{}))
	eventually(t, "it signed", hasSigned(first))
	_ = first.Stop(context.Background())
	_ = first.config.Outbox.Close()
	key := first.store.Keys.Host(first.config.Outbox.ID())
	old := f.client.HGetAll(t.Context(), key).Val()
	at := f.client.ZScore(t.Context(), first.store.Keys.Signs(), first.daemon.ID).Val()
	fallBack := func() {
		t.Helper()
		f.client.HSet(t.Context(), key, old)
		if err := f.client.ZAdd(t.Context(), first.store.Keys.Signs(), redis.Z{Score: at, Member: first.daemon.ID}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	next := f.frozen("host-a", boxAt(t, path, outbox.Options{}))
	for range 2 {
		if err := next.lookout.Sign(t.Context()); err != nil {
			t.Fatal(err)
		}
		fallBack()
	}
	if err := next.lookout.Sign(t.Context()); err != nil || next.Identity() != nil {
		t.Errorf("its own former run is taken for a clone: %v", err)
	}
	// Of one that it does not know, it waits whether it signs again.
	f.client.HSet(t.Context(), key, "instance", "of a restored backup")
	if err := next.lookout.Sign(t.Context()); !errors.Is(err, lookout.ErrCloned) || next.Identity() == nil {
		t.Errorf("a run that nobody knows is answered %v", err)
	}
	skipped := next.lookout.Pace.Missed
	next.now = func() time.Duration { return process.Boottime() + skipped }
	if err := next.lookout.Sign(t.Context()); err != nil || next.Identity() != nil {
		t.Errorf("it did not sign again, and is a clone for ever: %v", err)
	}
}

// TestG10_AClockThatWasSetMakesNothingYounger: what was staged before this run of the daemon began to sign is not sent alone, whatever
// this host's clock was set to since.
func TestG10_AClockThatWasSetMakesNothingYounger(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	if err := e.lookout.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := e.now()
	for _, one := range []struct {
		what string
		a    outbox.Attempt
		want bool
	}{
		{"just now", outbox.Attempt{At: time.Now().Add(-time.Hour), Boot: process.BootID(), Clock: now}, true},
		{"half an hour ago, by a clock that was an hour ahead", outbox.Attempt{At: time.Now().Add(30 * time.Minute), Boot: process.BootID(), Clock: now - 30*time.Minute}, false},
		{"an hour ago, by a clock that was an hour ahead", outbox.Attempt{At: time.Now(), Boot: process.BootID(), Clock: now - time.Hour}, false},
		{"in another boot", outbox.Attempt{At: time.Now(), Boot: "another", Clock: now}, false},
		{"some time, by a clock that was ahead", outbox.Attempt{At: time.Now().Add(time.Minute)}, false},
	} {
		if got := e.lookout.Unbroken(e.courier.Staged(one.a)); got != one.want {
			t.Errorf("staged %s: unbroken is %v", one.what, got)
		}
	}
}
