// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestG8_RestartsWhileAllHangs restarts a daemon again and again while all hangs that can: a receiver that never answers, a peer that has
// sent half a request, one that does not read, and at the end Redis. An agent that gives its signs of life and one that is
// watched, as picket exec watches, lose nothing by it: each restart is over before their trust is.
func TestG8_RestartsWhileAllHangs(t *testing.T) {
	t.Parallel()
	server, r := redistest.Start(t), newReceiver(t)
	release := make(chan struct{})
	r.answers(func(string, int) int { <-release; return http.StatusOK })
	defer close(release)
	m := newManager(t, "unix://"+server.SocketPath())
	m.configure(t, fmt.Sprintf("[[channel]]\nname = \"ops\"\ntype = \"webhook\"\nurl = %q\ntimeout = \"1m\"\n[lock]\nttl = \"30s\"\n", r.URL+"/ops"))
	daemon := m.start(t)
	m.told(t)
	socket := filepath.Join(m.dir, "passed.sock")
	c := client.New(socket)
	defer c.CloseIdleConnections()
	var work sync.WaitGroup
	defer work.Wait()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	work.Go(func() { beats(ctx, t, client.New(socket)) })
	work.Go(func() { watches(ctx, t, client.New(socket)) })

	restart := func() {
		t.Helper()
		c.CloseIdleConnections()
		if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		m.told(t)
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon did not stop cleanly: %v\n%s", err, daemon.Stderr)
		}
		daemon = m.start(t)
		m.told(t)
	}
	for n := range 3 {
		asset := fmt.Sprint("risk-", n)
		claim, err := atRisk(t.Context(), c, asset)
		if err != nil {
			t.Fatal(err)
		}
		before := len(r.requests())
		if _, err := c.Notify(t.Context(), claim, tell("first"), 0); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is on its way", func() bool { return len(r.requests()) > before })
		hangs(t, socket)
		time.Sleep(time.Second)
		restart()
	}
	server.Freeze()
	restart()
	server.Thaw()
	eventually(t, "the daemon is ready", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Ready
	})
	enough()
	work.Wait()
	c.CloseIdleConnections()
	_ = daemon.Process.Kill()
	_ = daemon.Wait()
}

// configure adds to the configuration that the manager's daemons read.
func (m *manager) configure(t *testing.T, more string) {
	t.Helper()
	b, err := os.ReadFile(m.config)
	if err == nil {
		err = os.WriteFile(m.config, append(b, more...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hangs leaves two connections behind: one with half a request, one with many calls whose answers are not read.
func hangs(t *testing.T, socket string) {
	t.Helper()
	for _, text := range []string{
		"POST /v1/claims HTTP/1.1\r\nHost: picket\r\nContent-Length: 100\r\n\r\n{",
		strings.Repeat("GET /v1/openapi.json HTTP/1.1\r\nHost: picket\r\n\r\n", 100),
	} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// beats is an agent that promised a sign of life every 8 s, and gives one each half second.
func beats(ctx context.Context, t *testing.T, c *client.Client) {
	defer c.CloseIdleConnections()
	got, err := c.Claim(ctx, client.ClaimRequest{Asset: "beats", Task: theTask, Heartbeat: "8s"})
	if err != nil {
		t.Error(err)
		return
	}
	for pause(ctx, 500*time.Millisecond) {
		if _, err := c.Heartbeat(ctx, got.Claim.ID); isCode(err, client.ClaimLost) {
			t.Errorf("an agent that beats has lost its claim: %v", err)
			return
		}
	}
}

// watches is an agent that knows for how long it may rely on its claim by watching it alone, as picket exec does.
func watches(ctx context.Context, t *testing.T, c *client.Client) {
	defer c.CloseIdleConnections()
	sent := process.Boottime()
	got, err := c.Claim(ctx, client.ClaimRequest{Asset: "watched", Task: theTask})
	if err != nil {
		t.Error(err)
		return
	}
	seen, deadline := *got.Claim, time.Duration(0)
	for {
		if err == nil && seen.Status != client.StatusHeld {
			t.Errorf("a watched claim is %s", describe(seen))
			return
		}
		if err == nil {
			deadline = max(deadline, sent+time.Duration(seen.TrustedMS)*time.Millisecond)
		}
		left := deadline - process.Boottime()
		if left <= 0 {
			t.Errorf("a watched claim cannot be relied upon any more: %v", err)
			return
		}
		sent = process.Boottime()
		call, cancel := context.WithTimeout(ctx, left)
		seen, err = c.WatchClaim(call, seen.ID, max(left/2, 50*time.Millisecond))
		cancel()
		if err != nil {
			seen.ID = got.Claim.ID
		}
		if err != nil && !pause(ctx, 50*time.Millisecond) {
			return
		}
	}
}

// pause sleeps, and reports whether it is not enough yet.
func pause(enough context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return enough.Err() == nil
	case <-enough.Done():
		return false
	}
}
