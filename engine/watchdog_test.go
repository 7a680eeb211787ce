// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// pool is a Redis for redsync alone, in a bubble of synctest: what extend answers is what a renewal gets.
type pool struct {
	mu     sync.Mutex
	extend func() (any, error)
	calls  []time.Time

	stopped atomic.Int64 // ns that CLOCK_BOOTTIME went on while the daemon was stopped
}

type poolConn struct{ *pool }

func (c poolConn) Get(string) (string, error)                        { return "", nil }
func (c poolConn) Set(string, string) (bool, error)                  { return true, nil }
func (c poolConn) SetNX(string, string, time.Duration) (bool, error) { return true, nil }
func (c poolConn) PTTL(string) (time.Duration, error)                { return 0, nil }
func (c poolConn) ScriptLoad(*syncredis.Script) error                { return nil }
func (c poolConn) Close() error                                      { return nil }
func (c poolConn) Eval(*syncredis.Script, ...any) (any, error) {
	c.mu.Lock()
	c.calls = append(c.calls, time.Now())
	extend := c.extend
	c.mu.Unlock()
	return extend()
}

type pools struct{ *pool }

func (p pools) Get(context.Context) (syncredis.Conn, error) { return poolConn(p), nil }

// bubble is an engine with one claim in synctest's time; its Redis, but for redsync's, is away.
func bubble(t *testing.T, extend func() (any, error), change func(*claim), options ...func(*Config)) (*Engine, *claim, *pool) {
	t.Helper()
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("away")
	}, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Redis: away, Outbox: box, Host: "h", TTL: 15 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, option := range options {
		option(&config)
	}
	e, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p := &pool{extend: extend}
	e.now = func() time.Duration { return time.Since(start) + time.Hour + time.Duration(p.stopped.Load()) }
	e.renewed = redsync.New(pools{p})
	c := &claim{
		id: "c", nonce: "n", ticket: store.ID("a", "t"), flow: store.AssetInference, uid: agent, owner: agent, account: agent, maxHold: time.Hour, status: Held,
		ended: make(chan struct{}), writes: store.NewTurnstile(), started: e.now(),
	}
	c.trusted, c.renewAt, c.sign = e.now()+e.config.TTL-e.trust.margin, e.now()+e.config.TTL/3, e.dog.at(e.now()).clock
	if change != nil {
		change(c)
	}
	e.claims.reserve(agent, 10)
	e.claims.add(c)
	e.spawn(func(ctx context.Context) {
		e.dog.loop(ctx, func(time.Duration) {}, &progress{report: e.config.Progress, every: e.config.ProgressEvery})
	})
	e.dog.follow(c)
	t.Cleanup(func() {
		_ = e.Stop(context.Background())
		_ = box.Close()
		_ = away.Close()
		time.Sleep(2 * time.Second) // the client's own goroutine looks once a second whether it is closed
	})
	return e, c, p
}

func renewed() (any, error) { return int64(1), nil }

func reasonOf(c *claim) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// TestG7_WatchdogRenewsAtAThirdOfTheTTL runs for most of an hour, and ends at max_hold.
func TestG7_WatchdogRenewsAtAThirdOfTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, p := bubble(t, renewed, nil)
		time.Sleep(59 * time.Minute)
		if r := reasonOf(c); r != "" {
			t.Fatalf("lost for %s", r)
		}
		time.Sleep(2 * time.Minute)
		if r := reasonOf(c); r != ReasonMaxHold {
			t.Errorf("reason is %q, want %s", r, ReasonMaxHold)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := 1; i < len(p.calls); i++ {
			if gap := p.calls[i].Sub(p.calls[i-1]); gap < 4500*time.Millisecond || gap > 5500*time.Millisecond+time.Millisecond {
				t.Fatalf("renewal %d came %s after the one before", i, gap)
			}
		}
		if len(p.calls) < 600 {
			t.Errorf("%d renewals in an hour", len(p.calls))
		}
	})
}

// TestF6_AFailedRenewalIsUnknown until the trust runs out; then the claim is lost though nobody said so.
func TestF6_AFailedRenewalIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, func() (any, error) { return nil, errors.New("away") }, nil)
		time.Sleep(e.config.TTL - e.trust.margin - 10*time.Millisecond)
		if r := reasonOf(c); r != "" {
			t.Fatalf("lost for %s before its trust ran out", r)
		}
		p.mu.Lock()
		p.extend = renewed
		p.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		if r := reasonOf(c); r != ReasonExpired {
			t.Errorf("reason is %q, want %s: at the deadline", r, ReasonExpired)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, c, p := bubble(t, func() (any, error) { return nil, errors.New("away") }, nil)
		time.Sleep(9 * time.Second)
		p.mu.Lock()
		p.extend = renewed
		p.mu.Unlock()
		time.Sleep(time.Minute)
		if r := reasonOf(c); r != "" {
			t.Errorf("lost for %s though Redis came back in time", r)
		}
	})
}

// TestAClaimIsTrustedForSixMoreSecondsAtAnyMoment while Redis answers, with the TTL of 15 s.
func TestAClaimIsTrustedForSixMoreSecondsAtAnyMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, _ := bubble(t, func() (any, error) { time.Sleep(400 * time.Millisecond); return int64(1), nil }, nil)
		for range 6000 {
			time.Sleep(100 * time.Millisecond)
			if left := e.view(c).Trusted; left < 6*time.Second {
				t.Fatalf("%s are left", left)
			}
		}
	})
}

// TestAnOutageOfFourSecondsCostsNoClaim, whenever it begins, though each renewal that meets it hangs for a second; one of thirteen does.
func TestAnOutageOfFourSecondsCostsNoClaim(t *testing.T) {
	outage := func(begins, lasts time.Duration) (r Reason) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, c, _ := bubble(t, func() (any, error) {
				if since := time.Since(start); since >= begins && since < begins+lasts {
					time.Sleep(time.Second)
					return nil, errors.New("away")
				}
				return int64(1), nil
			}, nil)
			time.Sleep(time.Minute)
			r = reasonOf(c)
		})
		return r
	}
	for begins := 10 * time.Second; begins < 20*time.Second; begins += 250 * time.Millisecond {
		if r := outage(begins, 4*time.Second); r != "" {
			t.Errorf("4 s from %s on: lost for %s", begins, r)
		}
		if r := outage(begins, 13*time.Second); r != ReasonExpired {
			t.Errorf("13 s from %s on: lost for %q", begins, r)
		}
	}
}

// TestTheDeadlineHoldsWithACallInFlight: a renewal that hangs cannot stretch the trust, and its late success changes nothing.
func TestTheDeadlineHoldsWithACallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, _ := bubble(t, func() (any, error) { time.Sleep(time.Minute); return int64(1), nil }, nil)
		time.Sleep(e.config.TTL - e.trust.margin + time.Millisecond)
		if r := reasonOf(c); r != ReasonExpired {
			t.Errorf("reason is %q, want %s", r, ReasonExpired)
		}
		time.Sleep(2 * time.Minute)
		if v := e.view(c); v.Status != Lost || v.Trusted != 0 {
			t.Errorf("a late renewal revived it: %+v", v)
		}
	})
}

// TestTrustCountsFromTheSend: a renewal whose answer takes long gives that much less.
func TestTrustCountsFromTheSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, func() (any, error) { time.Sleep(2 * time.Second); return int64(1), nil }, nil)
		time.Sleep(7*time.Second + 500*time.Millisecond)
		p.mu.Lock()
		sent := p.calls[0]
		p.mu.Unlock()
		want := e.config.TTL - e.trust.margin - time.Since(sent)
		if got := e.view(c).Trusted; got > want || got < want-time.Second {
			t.Errorf("trusted for %s, want %s", got, want)
		}
	})
}

func TestG7_SilentAgentLosesItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, _ := bubble(t, renewed, func(c *claim) { c.heartbeat = 30 * time.Second })
		for range 10 {
			time.Sleep(29 * time.Second)
			if err := e.alive(c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30*time.Second + tick)
		if r := reasonOf(c); r != ReasonSilent {
			t.Errorf("reason is %q, want %s", r, ReasonSilent)
		}
		c.mu.Lock()
		free := c.freeAt
		c.mu.Unlock()
		if free != 0 && free < e.now()+e.trust.margin-tick {
			t.Errorf("the lock is freed in %s, want one margin later", free-e.now())
		}
	})
}

// TestADaemonThatWasStoppedDoesNotBlameTheAgent: CLOCK_BOOTTIME jumps, as after SIGSTOP, by less than the trust is worth.
func TestADaemonThatWasStoppedDoesNotBlameTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, renewed, func(c *claim) { c.heartbeat = 2 * time.Second })
		time.Sleep(time.Second)
		p.stopped.Store(int64(5 * time.Second))
		time.Sleep(900 * time.Millisecond)
		if r := reasonOf(c); r != "" {
			t.Fatalf("lost for %s", r)
		}
		if err := e.alive(c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Second + 2*tick)
		if r := reasonOf(c); r != ReasonSilent {
			t.Errorf("reason is %q, want %s: the stop is not forgiven twice", r, ReasonSilent)
		}
	})
}

// TestF14_SuspendEndsAClaim: after a suspend longer than the trust the claim is lost, before anyone relies on it.
func TestF14_SuspendEndsAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, renewed, nil)
		time.Sleep(time.Second)
		p.stopped.Store(int64(time.Minute))
		if v, err := e.GetClaim(c.id, agent); err != nil || v.Status != Lost || v.Reason != ReasonExpired {
			t.Errorf("got %+v, %v", v, err)
		}
		wantLost(t, e.alive(c), ReasonExpired)
	})
}

// TestAReleaseOfItsOwnHurriesNoRenewal: a host hears of its own releases as of all others, and of each before its claim has ended.
func TestAReleaseOfItsOwnHurriesNoRenewal(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a", func(c *Config) { c.TTL = time.Minute })
	for i := range 50 {
		c, _ := claimed(t, e, fmt.Sprintf("own-%d", i), "t")
		if err := e.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
	}
	for _, result := range []string{"ok", "failed", "taken"} {
		if n := testutil.ToFloat64(e.metrics.renewals.WithLabelValues(result)); n != 0 {
			t.Errorf("there were %v renewals with the result %s", n, result)
		}
	}
}

// TestAStopRightAfterTheClaimIsNoticed: the loop has planned to sleep for long when the first claim with a heartbeat comes, and
// the daemon is stopped before the loop runs again.
func TestAStopRightAfterTheClaimIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c, p := bubble(t, renewed, func(c *claim) { c.renewAt += 4 * time.Second })
		time.Sleep(time.Second)
		synctest.Wait()
		c.mu.Lock()
		c.sign = e.dog.at(e.now()).clock
		c.mu.Unlock()
		e.dog.schedule(&claim{heartbeat: 2 * time.Second, status: Lost}, e.now()+2*time.Second)
		p.stopped.Store(int64(3 * time.Second))
		synctest.Wait()
		time.Sleep(time.Millisecond)
		e.dog.mu.Lock()
		defer e.dog.mu.Unlock()
		if e.dog.stalled < 2*time.Second {
			t.Errorf("of a stop of 3 s %s were noticed", e.dog.stalled)
		}
	})
}
