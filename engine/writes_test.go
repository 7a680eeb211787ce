// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func init() { contract["a Redis that went back is an alarm"] = olderStoreIsAnAlarm }

// olderStoreIsAnAlarm: the incarnation is there, and a ticket is older than this host wrote it, or is missing, be it found by the
// daemon that wrote it or by its next start.
func olderStoreIsAnAlarm(t *testing.T, s *store) {
	f, folder := s.fleet(t), t.TempDir()
	start := func() *Engine {
		e := f.frozen("a", func(c *Config) { c.StateDir = folder })
		if err := e.lookout.recallStores(); err != nil {
			t.Fatal(err)
		}
		e.lookout.recallWrites()
		look(t, e)
		return e
	}
	e := start()
	key, old := e.keys.ticket(TicketID{"went-back", "t"}), ""
	for i := range 2 * writesKept {
		asset := fmt.Sprint("a-", i)
		if i == 2*writesKept-1 {
			asset = "went-back"
		}
		c, _ := claimed(t, e, asset, "t")
		if asset == "went-back" {
			old = s.Client.Dump(t.Context(), key).Val()
		}
		if _, err := step(t, e, c, "online", AssetOnline, ""); err != nil {
			t.Fatal(err)
		}
	}
	look(t, e)
	wantAlarms(t, e)
	if n := len(e.writes.last); n != writesKept {
		t.Errorf("%d writes are remembered", n)
	}
	wantAlarms(t, start()) // all is as it was
	if err := s.Client.RestoreReplace(t.Context(), key, time.Hour, old).Err(); err != nil {
		t.Fatal(err)
	}
	wantAlarms(t, start(), AlarmStoreOlder)
	look(t, e)
	wantAlarms(t, e, AlarmStoreOlder)
	if text := e.Alarms()[0].Message; !strings.Contains(text, "went back to an older state") {
		t.Error(text)
	}
	wantAlarms(t, start()) // it was told
}

// TestTheLastWritesAreKeptAtAStop: they are the first that a Redis which restarts meanwhile has lost.
func TestTheLastWritesAreKeptAtAStop(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	eventually(t, "the first look is over", func() bool { return f.client.Exists(t.Context(), e.keys.store(0)).Val() == 1 })
	claimed(t, e, "a", "t")
	stop()
	e = f.frozen("host-a", func(c *Config) { c.StateDir = folder })
	e.lookout.recallWrites()
	if _, kept := e.writes.last[e.keys.ticket(TicketID{"a", "t"})]; !kept {
		t.Errorf("kept are %v", e.writes.last)
	}
}
