// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	picketBinary = "bin/picket"
	startTimeout = 20 * time.Second // for a process to open its socket, on a busy machine
	stopTimeout  = 10 * time.Second
)

// host is what a run measures: a Redis, a daemon and a floor, as processes of their own.
type host struct {
	dir          string
	redisAddr    string
	redisVersion string
	daemonSocket string
	floorSocket  string
	daemon, idle *exec.Cmd
	started      []*exec.Cmd
}

func startHost(ctx context.Context) (_ *host, err error) {
	dir, err := os.MkdirTemp("", "picket-bench-")
	if err != nil {
		return nil, err
	}
	h := &host{
		dir: dir, daemonSocket: filepath.Join(dir, "picket.sock"), floorSocket: filepath.Join(dir, "floor.sock"),
	}
	defer func() {
		if err != nil {
			h.stop()
		}
	}()
	if err := h.startRedis(ctx); err != nil {
		return nil, err
	}
	if err := h.startDaemon(ctx); err != nil {
		return nil, fmt.Errorf("%w%s", err, h.daemonLog())
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if h.idle, err = h.start(ctx, self, idleArg); err != nil {
		return nil, err
	}
	if _, err := h.start(ctx, self, floorArg, h.redisAddr, h.floorSocket); err != nil {
		return nil, err
	}
	return h, await(ctx, "the floor", "unix", h.floorSocket)
}

func (h *host) startRedis(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	h.redisAddr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	_, err = h.start(ctx, "redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", h.dir, "--logfile", filepath.Join(h.dir, "redis.log"))
	if err != nil {
		return fmt.Errorf("%w: install Debian's redis-server", err)
	}
	if err := await(ctx, "redis-server", "tcp", h.redisAddr); err != nil {
		return err
	}
	client := redis.NewClient(redisOptions(h.redisAddr))
	defer client.Close()
	info, err := client.InfoMap(ctx, "server").Result()
	h.redisVersion = info["Server"]["redis_version"]
	return err
}

// startDaemon starts the daemon with its defaults, but for what must be its own.
func (h *host) startDaemon(ctx context.Context) error {
	config, err := h.configure("picket", "")
	if err != nil {
		return err
	}
	if h.daemon, err = h.start(ctx, picketBinary, "daemon", "--config", config); err != nil {
		return fmt.Errorf("%w: make bench builds it and runs at the root of the repository", err)
	}
	return await(ctx, "the daemon", "unix", h.daemonSocket)
}

// configure writes the configuration of a daemon of that name, whose socket is NAME.sock and whose state is in NAME; more is TOML.
func (h *host) configure(name, more string) (path string, err error) {
	group, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
	if err != nil {
		return "", err
	}
	path = filepath.Join(h.dir, name+".toml")
	text := fmt.Sprintf("state_dir = %q\nadmin_group = \"\"\n[socket]\npath = %q\nmode = \"0600\"\ngroup = %q\n[redis]\naddrs = [%q]\n%s",
		filepath.Join(h.dir, name), filepath.Join(h.dir, name+".sock"), group.Name, h.redisAddr, more)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// start starts a process that ends with this one. Its standard error goes to a file of its name.
func (h *host) start(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	return cmd, h.launch(cmd, name)
}

func (h *host) launch(cmd *exec.Cmd, name string) error {
	log, err := os.OpenFile(filepath.Join(h.dir, filepath.Base(name)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", name, err)
	}
	h.started = append(h.started, cmd)
	return nil
}

// daemonLog is what the daemon said, for an error.
func (h *host) daemonLog() string {
	text, _ := os.ReadFile(filepath.Join(h.dir, filepath.Base(picketBinary)+".log"))
	if len(text) == 0 {
		return ""
	}
	return "\nthe daemon said:\n" + strings.TrimSpace(string(text))
}

// stop ends what was started, the last first.
func (h *host) stop() {
	for len(h.started) > 0 {
		last := len(h.started) - 1
		_ = end(h.started[last])
		h.started = h.started[:last]
	}
	_ = os.RemoveAll(h.dir)
}

// end ends a process, and does nothing to one that has ended.
func end(cmd *exec.Cmd) error {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	return cmd.Wait()
}

// await returns when a socket accepts connections.
func await(ctx context.Context, what, network, addr string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, network, addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot reach %s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
