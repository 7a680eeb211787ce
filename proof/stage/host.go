// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/proof/history"
)

// Host is a daemon in a network namespace of its own. Its methods may be called at the same time.
type Host struct {
	process
	disk
	Name   string // host-a, host-b, host-c
	Socket string // the daemon's
	Dir    string // its log and its configuration

	lost   atomic.Bool
	asked  atomic.Int64 // when the daemon was asked to end, in ns of CLOCK_BOOTTIME
	link   *link
	picket string // the path of the command
	log    *history.Log
	pids   *sync.Map // of daemons: int to the host's name
	http   *http.Client
}

func (h *Host) at() *link { return h.link }

// newHost makes a host, with an empty disk, and starts nothing. The log and the PIDs of daemons are for all hosts.
func newHost(ctx context.Context, l *link, o Options, log *history.Log, pids *sync.Map) (*Host, error) {
	home := filepath.Join(private, l.name)
	h := &Host{
		Name: l.name, Socket: filepath.Join(home, "picket.sock"), Dir: filepath.Join(o.Dir, l.name),
		link: l, disk: disk{dir: filepath.Join(home, "state")}, picket: o.Picket, log: log, pids: pids,
	}
	h.http = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.Socket)
		},
	}}
	if err := errors.Join(os.MkdirAll(home, 0o755), os.MkdirAll(h.Dir, 0o755)); err != nil {
		return nil, err
	}
	return h, h.disk.make(ctx)
}

// configure writes the daemon's configuration. The nodes are those that it is told of.
func (h *Host) configure(o Options, nodes []*Node) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "host = %q\nstate_dir = %q\n[socket]\npath = %q\ngroup = \"root\"\n", h.Name, h.disk.dir, h.Socket)
	fmt.Fprintf(b, "[redis]\nmode = %q\n", o.Topology)
	if o.Topology == "sentinel" {
		fmt.Fprintf(b, "master = %q\n", masterName)
	}
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, fmt.Sprintf("%q", n.Addr))
	}
	fmt.Fprintf(b, "addrs = [%s]\nwait_replicas = %d\n[lock]\nttl = %q\n", strings.Join(addrs, ", "), o.WaitReplicas, o.TTL)
	fmt.Fprint(b, "[outbox]\nretry_first = \"200ms\"\nretry_max = \"2s\"\n")
	for _, c := range o.Channels {
		fmt.Fprintf(b, "[[channel]]\nname = %q\ntype = \"webhook\"\nurl = %q\ninsecure = true\nat_most_once = %t\ntimeout = %q\n",
			c.Name, strings.ReplaceAll(c.URL, "HOST", h.Name), c.AtMostOnce, c.Timeout)
	}
	return os.WriteFile(h.configuration(), []byte(b.String()+o.Config), 0o600)
}

func (h *Host) configuration() string { return filepath.Join(h.Dir, "picket.toml") }

// Start starts the daemon, and waits until its socket answers. One that runs, or is lost, is left alone.
func (h *Host) Start(ctx context.Context) error {
	h.starting.Lock()
	defer h.starting.Unlock()
	if h.Running() || h.Lost() {
		return nil
	}
	cmd := inside(h.link, h.picket, "daemon", "--config", h.configuration())
	err := h.start(cmd, filepath.Join(h.Dir, "log"), h.begun, h.ended)
	if err != nil {
		return err
	}
	return h.await(ctx, "/livez")
}

func (h *Host) begun(pid int) {
	h.pids.Store(pid, h.Name)
	h.asked.Store(0)
	h.log.Write(history.Record{Process: &history.Process{PID: pid, Host: h.Name, Kind: "daemon"}})
}

func (h *Host) ended(pid int, how string) {
	h.log.Write(history.Record{Process: &history.Process{PID: pid, Host: h.Name, Kind: "daemon", End: true, Detail: how, Due: h.asked.Load()}})
}

// await waits until the daemon answers a probe with 200. A daemon that ends meanwhile is an error, with the end of its log.
func (h *Host) await(ctx context.Context, probe string) error {
	for {
		said, err := h.ask(ctx, probe)
		switch {
		case err == nil:
			return nil
		case !h.Running():
			return fmt.Errorf("the daemon of %s has ended: %s", h.Name, tail(filepath.Join(h.Dir, "log")))
		case ctx.Err() != nil:
			return fmt.Errorf("%s of %s: %w: %s", probe, h.Name, err, said)
		}
		time.Sleep(pollEvery)
	}
}

func (h *Host) ask(ctx context.Context, probe string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://picket"+probe, nil)
	if err != nil {
		return "", err
	}
	answer, err := h.http.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(body), err
}

// Terminate ends the daemon with SIGTERM, and waits for its end.
func (h *Host) Terminate(ctx context.Context) error {
	h.asked.Store(history.Now())
	ended := h.signal(unix.SIGTERM)
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the daemon of %s does not end: %w", h.Name, ctx.Err())
	}
}

// Command is a program on this host, in its network, with PICKET_SOCKET set. The caller starts it. It ends with the world.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	cmd := inside(h.link, name, args...)
	cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.Socket)
	return cmd
}
