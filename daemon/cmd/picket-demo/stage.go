// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

const (
	ttl        = 3 * time.Second // of a lock, so that nobody has to wait long
	startLimit = 20 * time.Second
)

// stage is what the story is played on: a folder, the processes that run, and a Redis for all hosts.
type stage struct {
	picket   string
	dir      string
	password string
	redis    io.Closer // its standard input
	actors   []*actor
}

// actor is a process of the story.
type actor struct {
	name  string
	cmd   *exec.Cmd
	said  output
	ended chan struct{} // closes when it has ended
}

// output collects what an actor says.
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

func newStage(picket string) (*stage, error) {
	picket, err := filepath.Abs(picket)
	if err != nil {
		return nil, fmt.Errorf("cannot find the command: %w", err)
	}
	dir, err := os.MkdirTemp("", "picket-demo-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	return &stage{picket: picket, dir: dir, password: rand.Text()}, nil
}

// start starts a process in a group of its own: Ctrl-C is for the demo, which ends it.
func (s *stage) start(name string, cmd *exec.Cmd) *actor {
	a := &actor{name: name, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &a.said, &a.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	check("start "+name, cmd.Start())
	go func() {
		defer close(a.ended)
		_ = cmd.Wait() // how it ended is asked for by code
	}()
	s.actors = append(s.actors, a)
	return a
}

// startRedis starts the embedded Redis, a process of its own, so that a frozen daemon does not freeze it.
func (s *stage) startRedis() {
	cmd := exec.Command(s.picket, "embedded-redis", "--addr", "unix://"+s.path("redis.sock"))
	in, err := cmd.StdinPipe()
	check("start the embedded Redis", err)
	s.start("the embedded Redis", cmd)
	s.redis = in
	_, err = fmt.Fprintln(in, s.password)
	check("start the embedded Redis", err)
	check("", os.WriteFile(s.path("password"), []byte(s.password+"\n"), 0o600))
}

// startDaemon starts a host's daemon and waits until it is ready.
func (s *stage) startDaemon(ctx context.Context, host, hook string) *actor {
	config := fmt.Sprintf(`
host = %q
state_dir = %q
admin_group = ""
socket = { path = %q, mode = "0600", group = "" }
redis = { addrs = ["unix://%s"], password_file = %q }
lock = { ttl = %q }
[[channel]]
name = "ops"
type = "webhook"
url = %q
`, host, s.path(host), s.socket(host), s.path("redis.sock"), s.path("password"), ttl, hook)
	file := s.path(host + ".toml")
	check("write the configuration of "+host, os.WriteFile(file, []byte(config), 0o600))
	a := s.start("the daemon of "+host, exec.Command(s.picket, "daemon", "--config", file))
	cl := client.New(s.socket(host))
	defer cl.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if status, err := cl.Status(ctx); err == nil && status.Ready {
			return a
		}
		select {
		case <-a.ended:
			check("", fmt.Errorf("cannot start %s: %s", a.name, &a.said))
		case <-ctx.Done():
			check("", fmt.Errorf("cannot start %s: it is not ready: %s", a.name, &a.said))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *stage) path(name string) string   { return filepath.Join(s.dir, name) }
func (s *stage) socket(host string) string { return s.path(host + ".sock") }

// freeze stops a process like a paused machine does.
func (a *actor) freeze() { _ = a.cmd.Process.Signal(syscall.SIGSTOP) }

func (a *actor) thaw() { _ = a.cmd.Process.Signal(syscall.SIGCONT) }

// code waits for an actor's end and returns its exit code.
func (a *actor) code(ctx context.Context) (int, error) {
	select {
	case <-a.ended:
		return a.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// says waits until an actor has said something.
func (a *actor) says(ctx context.Context, what string) {
	for !strings.Contains(a.said.String(), what) {
		select {
		case <-a.ended:
			check("", fmt.Errorf("%s ended too early: %s", a.name, &a.said))
		case <-ctx.Done():
			check("", context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// finished waits until a ticket is, as a host's daemon tells it.
func (s *stage) finished(ctx context.Context, host, asset, task string) {
	cl := client.New(s.socket(host))
	defer cl.CloseIdleConnections()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("%s/%s is not FINISHED within %s", asset, task, startLimit))
	defer cancel()
	for {
		if t, err := cl.Ticket(ctx, asset, task); err == nil && t.State == client.StateFinished {
			return
		}
		select {
		case <-ctx.Done():
			check("", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// clear ends everything, the last first, and removes the folder. What was frozen ends too.
func (s *stage) clear() error {
	for i := len(s.actors) - 1; i >= 0; i-- {
		a := s.actors[i]
		a.thaw()
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-a.ended:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL)
			<-a.ended
		}
	}
	var closed error
	if s.redis != nil {
		closed = s.redis.Close()
	}
	if errors.Is(closed, os.ErrClosed) {
		closed = nil
	}
	return errors.Join(closed, os.RemoveAll(s.dir))
}
