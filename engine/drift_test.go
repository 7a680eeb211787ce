// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestF13_LocksThatAllRunOutAtOnceLetNobodyWriteTwice: what a step of Redis' clock does to them.
func TestF13_LocksThatAllRunOutAtOnceLetNobodyWriteTwice(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a, b := f.frozen("a"), f.frozen("b")
	stopClock(a)
	var held []*Claim
	for i := range 20 {
		c, _ := claimed(t, a, fmt.Sprint("web-", i), "t1")
		held = append(held, c)
	}
	for _, c := range held {
		letGo(t, a, c.Ticket.Asset)
	}
	for _, c := range held {
		next, _ := claimed(t, b, string(c.Ticket.Asset), "t1")
		if next.Token <= c.Token {
			t.Errorf("after token %d comes %d", c.Token, next.Token)
		}
		_, err := step(t, a, c, "online", AssetOffline, "")
		wantErr(t, err, ErrStaleToken)
		if _, err := step(t, b, next, "online", AssetOnline, ""); err != nil {
			t.Error(err)
		}
		if got := state(t, b, c.Ticket); got != AssetOnline {
			t.Errorf("%s is %s", c.Ticket, got)
		}
	}
	wantAlarms(t, a)
	wantAlarms(t, b)
}

func TestF13_DriftBetweenHostAndRedisIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("a")
	look(t, e)
	wantAlarms(t, e)
	for _, off := range []time.Duration{-time.Hour, time.Hour} { // so far that no busy machine makes it uncertain
		real := e.lookout.wall
		e.lookout.host, e.lookout.wall = nil, func() time.Time { return real().Add(off) }
		look(t, e)
		wantAlarms(t, e, AlarmClockOffset)
		if got := -time.Duration(testutil.ToFloat64(e.metrics.offset) * float64(time.Second)); (got - off).Abs() > time.Minute {
			t.Errorf("a clock that is off by %s is told as %s", off, got)
		}
		side := "behind"
		if off < 0 {
			side = "ahead of"
		}
		if says := e.Alarms()[0].Message; !strings.Contains(says, side+" this host's") {
			t.Errorf("it says %s", says)
		}
		e.lookout.host, e.lookout.wall = nil, real
		look(t, e)
		wantAlarms(t, e)
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
	c := client(server.Addr())
	t.Cleanup(func() { _ = c.Close() })
	e := (&fleet{t, c, "picket"}).frozen("a")
	steps := func(clock string) float64 { return testutil.ToFloat64(e.metrics.steps.WithLabelValues(clock)) }
	look(t, e)
	look(t, e)
	wantAlarms(t, e)

	server.SetTime(time.Now().Add(time.Hour))
	look(t, e)
	wantAlarms(t, e, AlarmClockOffset, AlarmClockStep)
	if says := e.Alarms()[1].Message; !strings.HasPrefix(says, "Redis' clock went forward by ") || steps("redis") != 1 || steps("host") != 0 {
		t.Errorf("it says %s", says)
	}
	real := e.lookout.wall
	e.lookout.wall = func() time.Time { return real().Add(-time.Hour) }
	e.lookout.lookAtHost()
	if says := e.Alarms()[1].Message; !strings.HasPrefix(says, "this host's clock went back by ") || steps("host") != 1 {
		t.Errorf("it says %s", says)
	}
}
