// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// The channels of these tests, which are the paths at the receiver too; once is at_most_once.
const (
	ops  = "ops"
	once = "once"
)

// crashHost is a host whose daemon is a process of its own, which can be killed and started again.
type crashHost struct {
	config Config
	file   string // of the configuration
	cue    string // the file for crashOfProcess
	server *redistest.Server
	redis  *redis.Client
	client *client.Client
	disk   bool // the state directory is on a small disk of the daemon's own, and gone when it ends; needs root

	mu  sync.Mutex // guards cmd
	cmd *exec.Cmd
	log *lines
}

// newCrashHost makes a host beside server, with channels that lead to r.
func newCrashHost(t *testing.T, name string, server *redistest.Server, r *receiver, channels ...string) *crashHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-") // shorter than t.TempDir: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	h := &crashHost{
		config: DefaultConfig(), file: filepath.Join(dir, "picket.toml"), cue: filepath.Join(dir, "cue"), server: server,
		redis: server.Client(), log: &lines{},
	}
	h.config.Host, h.config.StateDir, h.config.AdminGroup = name, filepath.Join(dir, "state"), ""
	h.config.Socket = SocketConfig{Path: filepath.Join(dir, "picket.sock"), Mode: "0600"}
	h.config.Redis.Addrs = []string{"unix://" + server.SocketPath()}
	deliverTo(&h.config, r, channels...)
	h.client = client.New(h.config.Socket.Path)
	t.Cleanup(func() {
		h.kill()
		h.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", name, h.log)
		}
		os.RemoveAll(dir)
	})
	return h
}

// deliverTo gives a host channels that lead to r, and short pauses between attempts.
func deliverTo(c *Config, r *receiver, channels ...string) {
	c.Outbox.RetryFirst, c.Outbox.RetryMax = Duration(50*time.Millisecond), Duration(time.Second)
	for _, name := range channels {
		ch := DefaultChannel()
		ch.Name, ch.Type, ch.URL, ch.AtMostOnce = name, "webhook", r.URL+"/"+name, name == once
		ch.Timeout = Duration(2 * time.Second)
		c.Channels = append(c.Channels, ch)
	}
}

// start starts the daemon, which ends at point, if that is not empty.
func (h *crashHost) start(t *testing.T, point string) {
	t.Helper()
	doc, err := toml.Marshal(h.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	h.dieAt(t, point)
	if err := h.redis.ScriptFlush(t.Context()).Err(); err != nil { // so that the child learns the scripts' names
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), configOfProcess+"="+h.file, crashOfProcess+"="+h.cue)
	cmd.Stderr = h.log
	if h.disk {
		if err := os.MkdirAll(h.config.StateDir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, diskOfProcess+"="+h.config.StateDir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	if _, err := cmd.StdinPipe(); err != nil { // open as long as this process lives
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.cmd = cmd
	h.mu.Unlock()
	eventually(t, "the daemon serves", func() bool {
		_, err := h.client.Status(t.Context())
		return err == nil
	})
}

// kill ends the daemon with SIGKILL, if it runs.
func (h *crashHost) kill() {
	if cmd := h.take(); cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// take makes the caller the one who waits for the daemon's end.
func (h *crashHost) take() *exec.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	cmd := h.cmd
	h.cmd = nil
	return cmd
}

// crashed waits for the crash that the daemon was started for.
func (h *crashHost) crashed(t *testing.T) {
	t.Helper()
	cmd := h.take()
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGABRT) })
	defer late.Stop()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the daemon did not crash as planned: %v", err)
	}
	h.client.CloseIdleConnections()
}

// dieAt has the running daemon end at point, or nowhere if that is empty; what it holds goes on then.
func (h *crashHost) dieAt(t *testing.T, point string) {
	t.Helper()
	_ = os.Remove(h.cue + heldSuffix)
	if err := os.WriteFile(h.cue, []byte(point), 0o600); err != nil {
		t.Fatal(err)
	}
}

// holds waits until the daemon stands at the point where it was told to hold.
func (h *crashHost) holds(t *testing.T) {
	t.Helper()
	eventually(t, "the daemon holds", func() bool {
		_, err := os.Stat(h.cue + heldSuffix)
		return err == nil
	})
}

// stop ends the daemon as an operator does.
func (h *crashHost) stop(t *testing.T) {
	t.Helper()
	h.client.CloseIdleConnections()
	cmd := h.take()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the daemon did not stop cleanly: %v", err)
	}
}

// outbox opens the file of a daemon that does not run.
func (h *crashHost) outbox(t *testing.T, do func(*outbox.Store)) {
	t.Helper()
	store, err := outbox.Open(filepath.Join(h.config.StateDir, "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	do(store)
}

// found demands what the outbox and the ticket have after a crash: for the outbox an origin and a channel's status, for the
// ticket a state and a channel's status. Empty is nothing.
func (h *crashHost) found(t *testing.T, channel string, origin outbox.Origin, kept outbox.Status, state, delivery string) {
	t.Helper()
	h.outbox(t, func(s *outbox.Store) {
		all, err := s.Ticket(theTicket)
		switch {
		case err != nil:
			t.Error(err)
		case origin == "":
			if len(all) != 0 {
				t.Errorf("found in the outbox are %+v, want nothing", all)
			}
		case len(all) != 1 || all[0].Origin != origin || all[0].Channels[channel].Status != kept:
			t.Errorf("found in the outbox are %+v, want one that is %s, its channel %s", all, origin, kept)
		}
	})
	got, err := h.redis.HMGet(t.Context(), "picket:{"+theAsset+"}:ticket:"+theTask, "state", "delivery."+channel).Result()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{state, delivery} {
		if s, _ := got[i].(string); s != want {
			t.Errorf("on the ticket is %v, want %q, %q", got, state, delivery)
		}
	}
}

// lockEnds is the time that it takes until the lock of a claim runs out whose daemon is gone.
func (h *crashHost) lockEnds(t *testing.T, asset string) {
	t.Helper()
	if err := h.redis.Del(t.Context(), "picket:{"+asset+"}:lock").Err(); err != nil {
		t.Fatal(err)
	}
}

// leaseEnds is the time that it takes until an attempt's lease runs out whose daemon is gone.
func (h *crashHost) leaseEnds(t *testing.T, channel string) {
	t.Helper()
	h.outbox(t, func(s *outbox.Store) {
		all, err := s.Ticket(theTicket)
		if err != nil || len(all) != 1 {
			t.Fatalf("in the outbox are %+v, %v", all, err)
		}
		if err := s.Postpone(all[0].Ref, channel, time.Now()); err != nil {
			t.Fatal(err)
		}
	})
	if err := h.redis.HSet(t.Context(), "picket:{"+theAsset+"}:ticket:"+theTask, "lease."+channel, 1).Err(); err != nil {
		t.Fatal(err)
	}
}

// emptied stops the daemon and demands that nothing is left in its outbox but receipts that are on their tickets, and what
// was settled otherwise.
func (h *crashHost) emptied(t *testing.T) {
	t.Helper()
	var wrong error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); h.start(t, "") {
		h.stop(t)
		h.outbox(t, func(s *outbox.Store) { wrong = checkEmptied(s) })
		if wrong == nil {
			return
		}
	}
	t.Error(wrong)
}

// checkNothingLeft demands that the daemon has nothing to do: no intent is open, no outcome is to be brought to its ticket.
func checkNothingLeft(s *outbox.Store) error {
	open, err := s.List("", 1000)
	if err != nil || len(open) > 0 {
		return fmt.Errorf("left in the outbox are %+v, %v", open, err)
	}
	if due, _, err := s.Due(time.Now().Add(24*time.Hour), 1000); err != nil || len(due) > 0 {
		return fmt.Errorf("due in the outbox are %+v, %v", due, err)
	}
	return nil
}

func checkEmptied(s *outbox.Store) error {
	if err := checkNothingLeft(s); err != nil {
		return err
	}
	closed, err := s.List(outbox.Closed, 1000)
	for _, in := range closed {
		for name, d := range in.Channels {
			if !d.Status.Settled() || !d.Recorded {
				err = errors.Join(err, fmt.Errorf("channel %s of the closed %s is %+v", name, in.Ticket, d))
			}
		}
	}
	return err
}
