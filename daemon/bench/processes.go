// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	startTimeout = 20 * time.Second // for a process to open its socket, on a busy machine
	stopTimeout  = 10 * time.Second
	logShown     = 4 << 10 // bytes
)

// host is what a run measures: a Redis, a daemon and a floor, as processes of their own.
type host struct {
	dir          string
	picket       string // the command
	busyAssets   int    // of P15
	pageTickets  int    // of P19
	redisAddr    string
	redisVersion string
	daemonSocket string
	floorSocket  string
	daemon, idle *exec.Cmd
	started      []*exec.Cmd
}

func newHost(picket string) (*host, error) {
	dir, err := os.MkdirTemp("", "picket-bench-")
	return &host{dir: dir, picket: picket, daemonSocket: filepath.Join(dir, "picket.sock"), floorSocket: filepath.Join(dir, "floor.sock")}, err
}

// begin starts all of it.
func (h *host) begin(ctx context.Context) {
	h.startRedis(ctx)
	h.startDaemon(ctx)
	self := must(os.Executable())
	h.idle = must(h.start(ctx, self, idleArg))
	must(h.start(ctx, self, floorArg, h.redisAddr, h.floorSocket))
	check(await(ctx, "the floor", "unix", h.floorSocket))
}

func (h *host) startRedis(ctx context.Context) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	h.redisAddr = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(h.redisAddr)
	_, err := h.start(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", h.dir, "--logfile", filepath.Join(h.dir, "redis.log"))
	if err != nil {
		check(fmt.Errorf("%w: install Debian's redis-server", err))
	}
	check(await(ctx, "redis-server", "tcp", h.redisAddr))
	client := redis.NewClient(redisOptions(h.redisAddr))
	defer client.Close()
	h.redisVersion = must(client.InfoMap(ctx, "server").Result())["Server"]["redis_version"]
}

// startDaemon starts the daemon with its defaults, but for what must be its own.
func (h *host) startDaemon(ctx context.Context) {
	var err error
	if h.daemon, err = h.start(ctx, h.picket, "daemon", "--config", h.configure("picket", "")); err != nil {
		check(fmt.Errorf("%w: make bench builds it and runs at the root of the repository", err))
	}
	check(await(ctx, "the daemon", "unix", h.daemonSocket))
}

// configure writes the configuration of a daemon of that name, whose socket is NAME.sock and whose state is in NAME; more is TOML.
func (h *host) configure(name, more string) (path string) {
	group := must(user.LookupGroupId(strconv.Itoa(os.Getgid())))
	path = filepath.Join(h.dir, name+".toml")
	text := fmt.Sprintf("state_dir = %q\nadmin_group = \"\"\n[socket]\npath = %q\nmode = \"0600\"\ngroup = %q\n[redis]\naddrs = [%q]\n%s",
		filepath.Join(h.dir, name), filepath.Join(h.dir, name+".sock"), group.Name, h.redisAddr, more)
	check(os.WriteFile(path, []byte(text), 0o600))
	return path
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

// daemonLog is the end of what the daemons said, for an error.
func (h *host) daemonLog() string {
	text, _ := os.ReadFile(filepath.Join(h.dir, filepath.Base(h.picket)+".log"))
	text = text[max(len(text)-logShown, 0):]
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

// startAnother starts a daemon beside the first, on the same Redis and with a state of its own; more is TOML.
func (h *host) startAnother(ctx context.Context, name, more string) (cmd *exec.Cmd, socket string) {
	cmd = must(h.start(ctx, h.picket, "daemon", "--config", h.configure(name, more)))
	socket = filepath.Join(h.dir, name+".sock")
	check(await(ctx, "the daemon "+name, "unix", socket))
	return cmd, socket
}

// passed is a daemon's socket that stays while the daemon does not: it is handed to each, as systemd does.
type passed struct {
	host   *host
	config string
	path   string
	file   *os.File
}

func (h *host) newPassed(name, more string) *passed {
	path := filepath.Join(h.dir, name+".passed")
	l := must(net.ListenUnix("unix", &net.UnixAddr{Name: path}))
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return &passed{h, h.configure(name, more), path, must(l.File())}
}

// start returns when the process runs, not when it is ready: until then calls wait in the socket's queue.
func (p *passed) start(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", p.host.picket, "daemon", "--config", p.config)
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1")
	cmd.ExtraFiles = []*os.File{p.file}
	check(p.host.launch(cmd, p.host.picket))
	return cmd
}

// metric is one of a daemon's own figures, by its name and labels as they stand there.
func metric(ctx context.Context, socket, name string) float64 {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	resp := must(transport.RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, "http://picket/metrics", nil))))
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return must(strconv.ParseFloat(strings.TrimSpace(value), 64))
		}
	}
	panic(broken{errors.Join(fmt.Errorf("cannot read %s from the daemon's metrics", name), err)})
}
