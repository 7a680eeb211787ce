// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestHUPReloadsAndEndsNothing: not with a good configuration, not with a wrong one, and systemd is told.
func TestHUPReloadsAndEndsNothing(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "picket-hup-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	notified, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify.sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { notified.Close() })
	told := func() string {
		t.Helper()
		_ = notified.SetReadDeadline(time.Now().Add(time.Minute))
		for b := make([]byte, 1024); ; {
			n, err := notified.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if said := string(b[:n]); !strings.HasPrefix(said, "EXTEND_TIMEOUT_USEC=") { // as often as the start takes
				return said
			}
		}
	}
	config := filepath.Join(dir, "picket.toml")
	configure := func(more string) {
		t.Helper()
		text := "state_dir = '" + dir + "/state'\nadmin_group = ''\nsocket = { path = '" + dir + "/s', group = '' }\n" + more
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	redis := "redis = { addrs = ['unix://" + redistest.Start(t).SocketPath() + "'] }\n"
	configure(redis)

	log := &output{}
	cmd := exec.Command("picket", "daemon", "--config", config)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify.sock"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, if all went well
	if got := told(); got != "READY=1" {
		t.Fatalf("systemd was told %q", got)
	}
	agent := client.New(filepath.Join(dir, "s"))
	defer agent.CloseIdleConnections()
	for _, c := range []struct{ more, says string }{
		{redis, "the configuration has not changed"},
		{redis + "lock = { ttl = '1' }\n", "lock.ttl"},
		{redis + "lock = { ttl = '20s' }\n", "takes effect at the next start"},
	} {
		configure(c.more)
		if err := cmd.Process.Signal(unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if got := told(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
			t.Errorf("systemd was told %q", got)
		}
		if got := told(); got != "READY=1" {
			t.Errorf("systemd was told %q", got)
		}
		if s, err := agent.Status(t.Context()); err != nil || s.PID != cmd.Process.Pid || s.LockTTLMS != 15000 {
			t.Errorf("the status is %+v, %v", s, err)
		}
		if !strings.Contains(log.String(), c.says) {
			t.Errorf("nothing says %q: %s", c.says, log)
		}
	}
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("systemd was told %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, log)
	}
}
