// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// daemon is a real one, as a host has it.
type daemon struct {
	name, picket, dir, socket string
	client                    *client.Client
	web                       *http.Client // for its metrics
	cmd                       *exec.Cmd
}

// newDaemon starts a daemon with a folder of its own.
func newDaemon(t *testing.T, picket, name, redis, receiver string, life time.Duration) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-soak-") // short, because a socket's path must be
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{name: name, picket: picket, dir: dir, socket: filepath.Join(dir, "picket.sock")}
	d.client = client.New(d.socket, client.WithPatience(20*time.Second))
	d.web = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	}}}
	config := fmt.Sprintf(`
host = %q
state_dir = %q
admin_group = ""
socket = { path = %q, mode = "0600", group = "" }
redis = { addrs = ["unix://%s"] }
lock = { ttl = "12s" }
claims = { max_hold = %[5]q, max_hold_limit = %[5]q }
tickets = { keep = %[5]q, keep_grants = %[5]q }
outbox = { retry_first = "100ms", retry_max = "2s", give_up = %[6]q }
[[channel]]
name = "ops"
type = "webhook"
url = "http://%[7]s/hook"
timeout = "5s"
`, name, filepath.Join(dir, "state"), d.socket, redis, life, life*3/4, receiver)
	if err := os.WriteFile(filepath.Join(dir, "picket.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.kill()
		d.client.CloseIdleConnections()
		d.web.CloseIdleConnections()
		if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil && t.Failed() {
			t.Logf("%s said at its end: %s", name, log[max(0, len(log)-4000):])
		}
		_ = os.RemoveAll(dir)
	})
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// start starts the daemon, for the first time or after kill, and waits until it is ready.
func (d *daemon) start() error {
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = exec.Command(d.picket, "daemon", "--config", filepath.Join(d.dir, "picket.toml"))
	d.cmd.Stderr, d.cmd.SysProcAttr = log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := d.client.Status(context.Background())
		if err == nil && s.Ready {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s is not ready: %v", d.name, err)
		}
	}
}

func (d *daemon) kill() error {
	_ = d.cmd.Process.Kill()
	return d.cmd.Wait()
}

// measure adds the daemon's series to values.
func (d *daemon) measure(values map[string]float64) error {
	resp, err := d.web.Get("http://picket/metrics")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		as, ok := map[string]string{
			"go_goroutines": "goroutines", "process_open_fds": "descriptors", "process_resident_memory_bytes": "resident",
			"go_memstats_heap_inuse_bytes": "heap", "picket_outbox_staged": "intents", "picket_outbox_ready": "intents",
		}[name]
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		values[d.name+" "+as] += value
	}
	for series, pattern := range map[string]string{"outbox.db": "outbox.db", "claims.db": "claims-*.db"} {
		found, err := filepath.Glob(filepath.Join(d.dir, "state", pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			values[d.name+" "+series] += float64(info.Size())
		}
	}
	return nil
}

// measureProcess adds what the kernel knows of a process to values.
func measureProcess(values map[string]float64, name string, pid int) error {
	dir := fmt.Sprintf("/proc/%d/", pid)
	open, err := os.ReadDir(dir + "fd")
	if err != nil {
		return err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return err
	}
	var kib float64
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return err
	}
	values[name+" descriptors"], values[name+" resident"] = float64(len(open)), kib*1024
	return nil
}

// run runs the command against the daemon. What it says is of interest only if it fails.
func (d *daemon) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, d.picket, append(args, "--socket", d.socket)...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("picket %s: %w: %s", args[0], err, said.String()[max(0, said.Len()-500):])
	}
	return nil
}
