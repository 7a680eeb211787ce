// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
)

func TestALostDataSetIsAnAlarm(t *testing.T) { everywhere(t, lostStoreIsAnAlarm) }

func lostStoreIsAnAlarm(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("a"), f.frozen("b")
	for range 2 {
		look(t, a)
		look(t, b)
	}
	masters, err := a.store.Masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := a.store.IncarnationKeys(t.Context(), masters)
	if _, cluster := s.Client.(*redis.ClusterClient); err != nil || cluster && len(masters) != 3 || len(keys) != len(masters) {
		t.Fatalf("%d masters have the keys %v, %v", len(masters), keys, err)
	}
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	look(t, a)
	wantAlarms(t, a)
	if err := s.Client.Del(t.Context(), slices.Max(keys)).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		look(t, a)
		look(t, b)
	}
	for _, e := range []*Engine{a, b} {
		wantAlarms(t, e, lookout.AlarmStoreReset)
		if n := metric(t, e, "picket_store_resets_total"); n != 1 {
			t.Errorf("it was counted %v times", n)
		}
	}
}

func TestARedisThatStartsEmptyIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	log := &logged{}
	e := f.host("a", func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	eventually(t, "the incarnation is made", func() bool { return f.client.Exists(t.Context(), e.store.Keys.Incarnation(0)).Val() == 1 })
	look(t, f.frozen("b"))
	server.Restart()
	eventually(t, "the alarm is raised", func() bool { return slices.Contains(alarmed(e), lookout.AlarmStoreReset) })
	if !strings.Contains(log.String(), "level=ERROR msg=\"Redis lost its data: picket:store:0 ") {
		t.Errorf("the log is %s", log)
	}
}

// TestAStoreThatWasLostWhileNoDaemonRanIsAnAlarm: a host that boots starts both anew.
func TestAStoreThatWasLostWhileNoDaemonRanIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	folder := t.TempDir()
	run := func(damage string) *Engine {
		t.Helper()
		e := f.frozen("a", func(c *Config) { c.StateDir = folder })
		if damage != "" {
			if err := os.WriteFile(filepath.Join(folder, "stores.json"), []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.lookout.Recall(); (err != nil) != (damage != "") {
			t.Error(err)
		}
		look(t, e)
		return e
	}
	wantAlarms(t, run(""))
	wantAlarms(t, run(""))
	wantAlarms(t, run("{"))
	wantAlarms(t, run(`{"picket:store:0": 1}`))
	server.Restart()
	wantAlarms(t, run(""), lookout.AlarmStoreReset)
	wantAlarms(t, run(""))
}

// TestProbeAsksEachMaster: one that is full is seen, though the others take writes.
func TestProbeAsksEachMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := client(cluster.Addrs()...)
	t.Cleanup(func() { _ = c.Close() })
	e := (&fleet{t, c, "picket"}).frozen("a")
	eventually(t, "every master takes writes", func() bool { return e.Probe(t.Context()) == nil })
	for _, s := range cluster.Servers {
		one := s.Client()
		if err := one.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		if err := e.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("with %s full: %v", s.Addr(), err)
		}
		if err := one.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
