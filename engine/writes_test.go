// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
)

func TestARedisThatWentBackIsAnAlarm(t *testing.T) { everywhere(t, olderStoreIsAnAlarm) }

// olderStoreIsAnAlarm: the incarnation is there, and a ticket is older than this host wrote it, or is missing, be it found by the
// daemon that wrote it or by its next start.
// keptWrites is how many writes a daemon remembers.
const keptWrites = 16

func olderStoreIsAnAlarm(t *testing.T, s *shared) {
	f, folder := s.fleet(t), t.TempDir()
	start := func() *Engine {
		e := f.frozen("a", func(c *Config) { c.StateDir = folder })
		if err := e.lookout.Recall(); err != nil {
			t.Fatal(err)
		}
		look(t, e)
		return e
	}
	e := start()
	key, old := e.store.Keys.Ticket(store.ID("went-back", "t")), ""
	for i := range 2 * keptWrites {
		asset := fmt.Sprint("a-", i)
		if i == 2*keptWrites-1 {
			asset = "went-back"
		}
		c, _ := claimed(t, e, asset, "t")
		if asset == "went-back" {
			old = s.Client.Dump(t.Context(), key).Val()
		}
		if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
			t.Fatal(err)
		}
	}
	look(t, e)
	wantAlarms(t, e)
	wantAlarms(t, start()) // all is as it was
	if err := s.Client.RestoreReplace(t.Context(), key, time.Hour, old).Err(); err != nil {
		t.Fatal(err)
	}
	wantAlarms(t, start(), lookout.AlarmStoreOlder)
	look(t, e)
	wantAlarms(t, e, lookout.AlarmStoreOlder)
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
	eventually(t, "the first look is over", func() bool { return f.client.Exists(t.Context(), e.store.Keys.Incarnation(0)).Val() == 1 })
	claimed(t, e, "a", "t")
	stop()
	kept, err := os.ReadFile(filepath.Join(folder, "writes.json"))
	if err != nil || !strings.Contains(string(kept), e.store.Keys.Ticket(store.ID("a", "t"))) {
		t.Errorf("kept are %s, %v", kept, err)
	}
}
