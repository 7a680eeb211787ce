// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// host is a host with a daemon that is not started yet, and its Redis.
type host struct {
	*Daemon
	redis  *redistest.Server
	config Config
	client *client.Client
	log    *lines
	audit  *gate
}

// setup makes a host. Its Redis is new unless change names another.
func setup(t *testing.T, change func(*Config)) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-") // shorter than t.TempDir: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &host{config: DefaultConfig(), log: &lines{}, audit: &gate{}}
	h.config.Host, h.config.StateDir, h.config.AdminGroup = "host-a", filepath.Join(dir, "state"), ""
	h.config.Socket = SocketConfig{Path: filepath.Join(dir, "picket.sock"), Mode: "0600"}
	h.config.Redis.Addrs = nil
	if change != nil {
		change(&h.config)
	}
	if h.config.Redis.Addrs == nil {
		h.redis = redistest.Start(t)
		h.config.Redis.Addrs = []string{"unix://" + h.redis.SocketPath()}
	}
	h.Daemon, err = New(h.config, Options{Logger: slog.New(slog.NewTextHandler(h.log, nil)), Audit: h.audit})
	if err != nil {
		t.Fatal(err)
	}
	h.client = client.New(h.config.Socket.Path)
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		h.stop(t)
		if t.Failed() {
			t.Log(h.log)
		}
	})
	return h
}

func (h *host) start(t *testing.T) {
	t.Helper()
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
}

func (h *host) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Errorf("cannot stop: %v", err)
	}
}

// claim asks for an asset, with a heartbeat so that it is the test process' word that keeps it.
func (h *host) claim(t *testing.T, asset string) (client.ClaimResponse, error) {
	t.Helper()
	return h.client.Claim(t.Context(), client.ClaimRequest{Asset: asset, Task: "t1", Heartbeat: "1m"})
}

// wantCode demands that err is a problem with a code.
func wantCode(t *testing.T, err error, code client.Code) {
	t.Helper()
	if !isCode(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

func isCode(err error, code client.Code) bool {
	var p *client.Problem
	return errors.As(err, &p) && p.Code == code
}

// check returns what readiness says about one thing: empty when all is well.
func (h *host) check(t *testing.T, name string) string {
	t.Helper()
	for _, c := range h.Ready(t.Context()) {
		if c.Name == name {
			return c.Error
		}
	}
	t.Fatalf("there is no check %s", name)
	return ""
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is still not so: %s", what)
		}
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestADaemonStartsOnceAndStopsAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	if err := h.Start(); !errors.Is(err, errStarted) {
		t.Errorf("the second start: got %v", err)
	}
	st, err := h.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !st.Ready || st.Host != "host-a" || st.PID != os.Getpid() || st.ID == "" || st.LockTTLMS != 15000 || len(st.Checks) != 8 {
		t.Errorf("its status is %+v", st)
	}
	h.client.CloseIdleConnections()
	h.stop(t)
	h.stop(t)
	if err := h.Start(); !errors.Is(err, errStarted) {
		t.Errorf("a start after the stop: got %v", err)
	}
	if _, err := os.Stat(h.config.Socket.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestADaemonStopsWithoutAStart(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.stop(t)
	if err := h.Start(); !errors.Is(err, errStarted) {
		t.Errorf("a start after the stop: got %v", err)
	}
}

func TestAStoppedDaemonFreesNoLiveLock(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	if _, err := h.claim(t, "web-01.example.com"); err != nil {
		t.Fatal(err)
	}
	h.client.CloseIdleConnections()
	h.stop(t)
	keys, err := h.redis.Client().Keys(t.Context(), "picket:{*}:lock").Result()
	if err != nil || len(keys) != 1 {
		t.Errorf("got %v, %v", keys, err)
	}
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	if err := os.WriteFile(h.config.Socket.Path, []byte("not a socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err == nil || !strings.Contains(err.Error(), h.config.Socket.Path) {
		t.Fatalf("got %v", err)
	}
	store, err := outbox.Open(filepath.Join(h.config.StateDir, "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatalf("the outbox is still open: %v", err)
	}
	store.Close()
}

func TestF22_ASecondDaemonOnTheSameStateIsRefusedByName(t *testing.T) {
	t.Parallel()
	first := setup(t, nil)
	first.start(t)
	second := setup(t, func(c *Config) {
		c.StateDir, c.Redis.Addrs = first.config.StateDir, first.config.Redis.Addrs
	})
	err := second.Start()
	if !errors.Is(err, outbox.ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

func TestF21_ADamagedOutboxIsSetAsideAndLocksWork(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	if err := os.Mkdir(h.config.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.config.StateDir, "outbox.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("damage"), 10000), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	if _, err := h.claim(t, "web-01"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(h.log.String(), "the outbox is damaged and was set aside") {
		t.Error("the log says nothing of it")
	}
	if aside, err := filepath.Glob(path + ".damaged-*"); err != nil || len(aside) != 1 {
		t.Errorf("set aside are %v, %v", aside, err)
	}
}

func TestAStateDirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	file := write(t, "file", "")
	h := setup(t, func(c *Config) { c.StateDir = filepath.Join(file, "state") })
	if err := h.Start(); err == nil || !strings.Contains(err.Error(), "cannot make the state directory: mkdir "+file) {
		t.Errorf("got %v", err)
	}
}

func TestRedisAwayAtStartAndBackLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	h := setup(t, func(c *Config) { c.Redis.Addrs = []string{"unix://" + server.SocketPath()} })
	h.start(t)
	if h.Status().Ready || h.check(t, "redis") == "" || h.check(t, "settings") == "" || h.check(t, "outbox") != "" {
		t.Errorf("the checks are %+v", h.Ready(t.Context()))
	}
	_, err := h.claim(t, "web-01")
	wantCode(t, err, client.StoreUnavailable)

	server.Restart()
	eventually(t, "the daemon is ready", func() bool { return h.Status().Ready })
	for _, word := range []string{"Redis cannot be asked", "Redis answers again"} {
		if strings.Count(h.log.String(), word) != 1 {
			t.Errorf("the log says %q not once:\n%s", word, h.log)
		}
	}
	if _, err := h.claim(t, "web-01"); err != nil {
		t.Error(err)
	}
}

func TestAStopWhileRedisIsAwaitedIsClean(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	h := setup(t, func(c *Config) { c.Redis.Addrs = []string{"unix://" + server.SocketPath()} })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("told to stop"))
	defer cancel()
	if err := h.Run(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(h.config.Socket.Path); err == nil {
		t.Error("it has served")
	}
}

func TestAFrozenRedisIsSaidWithin5sAndAllIsWellAfter(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	granted, err := h.claim(t, "web-01")
	if err != nil {
		t.Fatal(err)
	}
	h.redis.Freeze()
	calls := map[string]func(context.Context) error{
		"claim": func(ctx context.Context) error {
			_, err := h.client.Claim(ctx, client.ClaimRequest{Asset: "web-02", Task: "t1", Heartbeat: "1m"})
			return err
		},
		"step": func(ctx context.Context) error {
			_, err := h.client.Step(ctx, granted.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline})
			return err
		},
		"ticket": func(ctx context.Context) error {
			_, err := h.client.Ticket(ctx, "web-01", "t1")
			return err
		},
	}
	var wait sync.WaitGroup
	for name, call := range calls {
		for range 3 { // calls on one claim wait for each other
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // 5, and what a machine that stands still adds
				defer cancel()
				var p *client.Problem
				if err := call(ctx); !errors.As(err, &p) || p.Code != client.StoreUnavailable {
					t.Errorf("%s: got %v", name, err)
				}
			})
		}
	}
	wait.Wait()
	if h.check(t, "redis") == "" || h.check(t, "settings") != "" {
		t.Errorf("the checks are %+v", h.Ready(t.Context()))
	}
	h.redis.Thaw()
	eventually(t, "the daemon is ready", func() bool { return h.Status().Ready })
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the thaw: %v", name, err)
		}
	}
}

func TestF16_ADaemonGrantsNothingWhileRedisMayEvict(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "volatile-lru")
	h := setup(t, func(c *Config) { c.Redis.Addrs = []string{"unix://" + server.SocketPath()} })
	h.start(t)
	if says := h.check(t, "settings"); !strings.Contains(says, `"volatile-lru": set it to noeviction`) || h.Status().Ready {
		t.Errorf("readiness says %q", says)
	}
	_, err := h.claim(t, "web-01")
	wantCode(t, err, client.StoreUnavailable)

	if err := server.Client().ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon is ready", func() bool { return h.Status().Ready })
	if _, err := h.claim(t, "web-01"); err != nil {
		t.Error(err)
	}
}

func TestTheMetricsOfAllPartsAreInOrder(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	if _, err := h.claim(t, "web-01"); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(h.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, name := range []string{
		"picket_build_info", "picket_outbox_staged", "picket_outbox_ready", "picket_outbox_oldest_age_seconds", "go_goroutines",
		"process_open_fds", "picket_http_requests_total",
	} {
		if n, err := testutil.GatherAndCount(h.registry, name); err != nil || n == 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// TestG12_APartThatHangsLeavesTheAuditItsTime: what happened until then is told, and that the daemon stopped.
func TestG12_APartThatHangsLeavesTheAuditItsTime(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	told := false
	hang := func(ctx context.Context) error { <-ctx.Done(); time.Sleep(2 * cutGrace); return ctx.Err() }
	_ = h.stopAll(t.Context(), []part{
		{"the audit", auditUntil, func(ctx context.Context) error {
			select {
			case <-time.After(100 * time.Millisecond):
				told = true
			case <-ctx.Done():
			}
			return nil
		}},
		{"one", partsUntil, hang},
		{"another", partsUntil, hang},
	})
	if !told {
		t.Error("the audit was cut off with the others")
	}
}
