// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// on is a lookout over a Redis.
func on(t *testing.T, c redis.UniversalClient) *Lookout {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	l := New(Config{Daemon: &store.Daemon{ID: "d", Run: "r", Host: "h"}, Now: process.Boottime, Logger: log})
	s, err := store.New(store.Config{Redis: c, Urgent: c, Prefix: "picket", Watch: l, Audit: func(audit.Event) {}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	l.Over(s)
	return l
}

func look(t *testing.T, l *Lookout) {
	t.Helper()
	if err := l.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantAlarms(t *testing.T, l *Lookout, want ...string) {
	t.Helper()
	names := []string{}
	for _, a := range l.Alarms() {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, want) && len(names)+len(want) > 0 {
		t.Fatalf("the alarms are %q, want %q: %+v", names, want, l.Alarms())
	}
}

func TestF13_DriftBetweenHostAndRedisIsAnAlarm(t *testing.T) {
	t.Parallel()
	l := on(t, redistest.Start(t).Client())
	look(t, l)
	wantAlarms(t, l)
	for _, off := range []time.Duration{-time.Hour, time.Hour} { // so far that no busy machine makes it uncertain
		real := l.wall
		l.host, l.wall = nil, func() time.Time { return real().Add(off) }
		look(t, l)
		wantAlarms(t, l, AlarmClockOffset)
		if got := -time.Duration(testutil.ToFloat64(l.metrics.offset) * float64(time.Second)); (got - off).Abs() > time.Minute {
			t.Errorf("a clock that is off by %s is told as %s", off, got)
		}
		side := "behind"
		if off < 0 {
			side = "ahead of"
		}
		if says := l.Alarms()[0].Message; !strings.Contains(says, side+" this host's") {
			t.Errorf("it says %s", says)
		}
		l.host, l.wall = nil, real
		look(t, l)
		wantAlarms(t, l)
	}
}

// TestF13_ASlowAnswerIsNoDrift: what a round trip leaves open is not held against the clocks.
func TestF13_ASlowAnswerIsNoDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		offset, trip time.Duration
		complains    bool
	}{
		{900 * time.Millisecond, 0, false},
		{1100 * time.Millisecond, 0, true},
		{-1100 * time.Millisecond, 100 * time.Millisecond, true},
		{-1100 * time.Millisecond, 300 * time.Millisecond, false},
	} {
		if got := (clockTime{offset: c.offset, error: c.trip / 2}).complaint(""); (got != "") != c.complains {
			t.Errorf("off by %s with a trip of %s: %q", c.offset, c.trip, got)
		}
	}
}

// TestF13_AClockStepIsTold needs a Redis whose clock can be set.
func TestF13_AClockStepIsTold(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	l := on(t, redis.NewClient(&redis.Options{Addr: server.Addr()}))
	steps := func(clock string) float64 { return testutil.ToFloat64(l.metrics.steps.WithLabelValues(clock)) }
	look(t, l)
	look(t, l)
	wantAlarms(t, l)

	server.SetTime(time.Now().Add(time.Hour))
	look(t, l)
	wantAlarms(t, l, AlarmClockOffset, AlarmClockStep)
	if says := l.Alarms()[1].Message; !strings.HasPrefix(says, "Redis' clock went forward by ") || steps("redis") != 1 || steps("host") != 0 {
		t.Errorf("it says %s", says)
	}
	real := l.wall
	l.wall = func() time.Time { return real().Add(-time.Hour) }
	l.lookAtHost()
	if says := l.Alarms()[1].Message; !strings.HasPrefix(says, "this host's clock went back by ") || steps("host") != 1 {
		t.Errorf("it says %s", says)
	}
}

// TestHowFullRedisIsIsMeasured: against its bound, or its host's memory when it has none.
func TestHowFullRedisIsIsMeasured(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := on(t, server.Client())
	look(t, l)
	if full := testutil.ToFloat64(l.metrics.full); full <= 0 || full >= 0.5 {
		t.Errorf("without a bound it is %v full", full)
	}
	raw := server.Client()
	if err := raw.Set(t.Context(), "filling", strings.Repeat("x", 20<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := raw.ConfigSet(t.Context(), "maxmemory", "24mb").Err(); err != nil {
		t.Fatal(err)
	}
	look(t, l)
	if full := testutil.ToFloat64(l.metrics.full); full < 0.8 {
		t.Errorf("it is %v full", full)
	}
}
