// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
)

func init() {
	contract["a lost data set is an alarm"] = lostStoreIsAnAlarm
	contract["F12 a token that goes back is an alarm"] = tokenBackIsAnAlarm
}

// alarmed are the names of what is raised.
func alarmed(e *Engine) []string {
	names := []string{}
	for _, a := range e.Alarms() {
		names = append(names, a.Name)
	}
	return names
}

func wantAlarms(t *testing.T, e *Engine, want ...string) {
	t.Helper()
	if got := alarmed(e); !slices.Equal(got, want) {
		t.Fatalf("the alarms are %q, want %q: %+v", got, want, e.Alarms())
	}
}

func look(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.lookout.look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func lostStoreIsAnAlarm(t *testing.T, s *store) {
	f := s.fleet(t)
	a, b := f.frozen("a"), f.frozen("b")
	for range 2 {
		look(t, a)
		look(t, b)
	}
	masters, err := a.masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, cluster := s.Client.(*redis.ClusterClient); cluster && len(masters) != 3 || len(a.lookout.stores) != len(masters) {
		t.Fatalf("%d masters have the keys %v", len(masters), a.lookout.stores)
	}
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	look(t, a)
	wantAlarms(t, a)
	last := slices.Max(slices.Collect(maps.Keys(a.lookout.stores)))
	if err := s.Client.Del(t.Context(), last).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		look(t, a)
		look(t, b)
	}
	for _, e := range []*Engine{a, b} {
		wantAlarms(t, e, AlarmStoreReset)
		if n := testutil.ToFloat64(e.metrics.resets); n != 1 {
			t.Errorf("it was counted %v times", n)
		}
	}
}

func TestARedisThatStartsEmptyIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	log := &logged{}
	e := f.host("a", func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	eventually(t, "the incarnation is made", func() bool { return f.client.Exists(t.Context(), e.keys.store(0)).Val() == 1 })
	look(t, f.frozen("b"))
	server.Restart()
	eventually(t, "the alarm is raised", func() bool { return slices.Contains(alarmed(e), AlarmStoreReset) })
	if !strings.Contains(log.String(), "level=ERROR msg=\"Redis lost its data: picket:store:0 ") {
		t.Errorf("the log is %s", log)
	}
}

// tokenBackIsAnAlarm writes an older grant, as a failover brings it.
func tokenBackIsAnAlarm(t *testing.T, s *store) {
	e := s.fleet(t).frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	id := TicketID{"web-01", "t1"}
	for range 3 {
		state(t, e, id)
	}
	wantAlarms(t, e)
	old := c.Token - 10
	if err := s.Client.HSet(t.Context(), e.keys.grant("web-01"), "token", old, "nonce", "older").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, AlarmTokenBack)
	state(t, e, id)
	if n := testutil.ToFloat64(e.metrics.back); n != 1 {
		t.Errorf("it was counted %v times", n)
	}
	letGo(t, e, "web-01")
	again, _ := claimed(t, e, "web-01", "t1")
	if again.Token <= c.Token {
		t.Errorf("after token %d comes %d", c.Token, again.Token)
	}
}

// TestF12_ARedisThatFallsBackIsAnAlarm: the server comes back with what it had on disk, which is older than the claim.
func TestF12_ARedisThatFallsBackIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e, other := f.frozen("a"), f.frozen("b")
	look(t, e)
	first, _ := claimed(t, e, "web-01", "t1")
	if err := f.client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(t.Context(), first.ID, agent); err != nil {
		t.Fatal(err)
	}
	second, _ := claimed(t, e, "web-01", "t2")
	server.Restart()
	_, err := step(t, e, second, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	look(t, e)
	wantAlarms(t, e, AlarmTokenBack) // and not that all data are lost
	look(t, other)
	wantAlarms(t, other)
}

func TestF12_AGrantThatIsGoneIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	if err := f.client.Del(t.Context(), e.keys.grant("web-01")).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, AlarmTokenBack)
}

// TestTokensForgetTheOldest: two generations, so that memory is bounded.
func TestTokensForgetTheOldest(t *testing.T) {
	t.Parallel()
	var known tokens
	for i := range 3 * tokensKept {
		known.found(Asset("a"+string(rune('0'+i%10))+time.Duration(i).String()), 0, 7)
		known.found("busy", 7, int64(8+i))
	}
	if n := len(known.young) + len(known.old); n > 2*tokensKept {
		t.Errorf("%d are remembered", n)
	}
	if !known.found("busy", known.of("busy"), 1) || known.of("busy") != 1 {
		t.Error("a token that went back was not noticed")
	}
	if known.found("busy", 9, 1) {
		t.Error("an answer that was asked for before the newest was known counts as going back")
	}
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

// logged is what was logged.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
