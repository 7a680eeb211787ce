// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/sockapi/client"
)

// hostTTL is the lock's TTL of the daemons here: short, and long enough for a machine that stands still for 5 s.
const hostTTL = 12 * time.Second

// host is a real daemon with a state directory and a socket of its own, as one host has it.
type host struct {
	socket string
	dir    string
	cmd    *exec.Cmd
	log    output
	ended  chan struct{} // closes when the daemon has ended
}

// output collects what a process says.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startHost starts a daemon and waits until it is ready. The prefix is that of all its keys; the channels are TOML.
func startHost(name, redisSocket, prefix, channels string) (*host, error) {
	return startHostBy(name, fmt.Sprintf("addrs = [\"unix://%s\"], prefix = %q", redisSocket, prefix), channels)
}

// startHostBy is startHost with what the table redis says, in TOML.
func startHostBy(name, redis, channels string) (*host, error) {
	dir, err := os.MkdirTemp("", "picket-host-") // short, because a socket's path must be
	if err != nil {
		return nil, err
	}
	h := &host{socket: filepath.Join(dir, "picket.sock"), dir: dir}
	config := filepath.Join(dir, "picket.toml")
	text := fmt.Sprintf(`
host = %q
state_dir = %q
admin_group = ""
socket = { path = %q, mode = "0600", group = "" }
redis = { %s }
lock = { ttl = %q }
outbox = { retry_first = "100ms" }
%s`, name, filepath.Join(dir, "state"), h.socket, redis, hostTTL, channels)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return h, h.start()
}

// start starts the daemon, for the first time or again after kill.
func (h *host) start() error {
	cmd, ended := exec.Command("picket", "daemon", "--config", filepath.Join(h.dir, "picket.toml")), make(chan struct{})
	h.cmd, h.ended = cmd, ended
	cmd.Stdout, cmd.Stderr = &h.log, &h.log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	err := h.awaitReady()
	if err != nil {
		h.stop()
	}
	return err
}

// kill ends the daemon as a crash of the host does, and keeps what is on its disk.
func (h *host) kill() {
	h.signal(unix.SIGKILL)
	<-h.ended
}

func (h *host) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cl := client.New(h.socket)
	defer cl.CloseIdleConnections()
	for {
		s, err := cl.Status(ctx)
		if err == nil && s.Ready {
			return nil
		}
		select {
		case <-h.ended:
			return fmt.Errorf("the daemon has ended: %s", &h.log)
		case <-ctx.Done():
			return fmt.Errorf("the daemon is not ready (%v): %s", err, &h.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (h *host) signal(s syscall.Signal) { _ = h.cmd.Process.Signal(s) }

// freeze stops the daemon like a paused machine does: its connections stay, nothing is answered.
func (h *host) freeze() { h.signal(unix.SIGSTOP) }

func (h *host) thaw() { h.signal(unix.SIGCONT) }

// stop ends the daemon and removes what it left.
func (h *host) stop() {
	h.thaw()
	h.signal(unix.SIGTERM)
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
		h.signal(unix.SIGKILL)
		<-h.ended
	}
	_ = os.RemoveAll(h.dir)
}

// picket runs the command against the host. It returns what it said, and its exit code.
func (h *host) picket(args ...string) (said string, code int) {
	cmd := exec.Command("picket", append([]string{"--socket", h.socket}, args...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// crashed reports whether the daemon's log tells of a panic or a data race.
func (h *host) crashed() bool {
	return strings.Contains(h.log.String(), "panic:") || strings.Contains(h.log.String(), "DATA RACE")
}
