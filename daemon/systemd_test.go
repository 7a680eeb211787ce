// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// manager does for a daemon what systemd does: it holds the socket and is told what happens.
type manager struct {
	dir      string
	socket   *net.UnixListener
	notified *net.UnixConn
	config   string
}

func newManager(t *testing.T, redisAddr string) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &manager{dir: dir}
	if m.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "passed.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.socket.Close() })
	if m.notified, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.notified.Close() })
	m.config = write(t, "picket.toml", fmt.Sprintf("state_dir = %q\n[redis]\naddrs = [%q]\n[socket]\npath = %q\n",
		filepath.Join(dir, "state"), redisAddr, filepath.Join(dir, "own.sock")))
	return m
}

// start runs a daemon with the socket as file descriptor 3, and more in its environment.
func (m *manager) start(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	file, err := m.socket.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), configOfProcess+"="+m.config, "LISTEN_FDS=1", "NOTIFY_SOCKET="+filepath.Join(m.dir, "notify.sock"))
	cmd.Env = append(cmd.Env, env...)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// told waits for the next word to systemd, but for those that ask for more time.
func (m *manager) told(t *testing.T) string {
	t.Helper()
	for {
		if word := m.hears(t); !strings.HasPrefix(word, "EXTEND_TIMEOUT_USEC=") {
			return word
		}
	}
}

// hears waits for the next word to systemd, whatever it is.
func (m *manager) hears(t *testing.T) string {
	t.Helper()
	if err := m.notified.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := m.notified.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestUnderSystemdTheSocketIsPassedAndSystemdIsTold(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	m := newManager(t, "unix://"+redis.SocketPath())
	agent := client.New(filepath.Join(m.dir, "passed.sock"))
	defer agent.CloseIdleConnections()
	for range 2 { // a restart finds the same socket
		cmd := m.start(t)
		if _, err := agent.Status(t.Context()); err != nil { // waits in the socket's queue
			t.Error(err)
		}
		if got := m.told(t); got != "READY=1" {
			t.Errorf("systemd was told %q", got)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := m.told(t); got != "STOPPING=1" {
			t.Errorf("systemd was told %q", got)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, cmd.Stderr)
		}
		for _, line := range strings.Split(strings.TrimSpace(cmd.Stderr.(*bytes.Buffer).String()), "\n") {
			if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}") {
				t.Errorf("what is logged is not JSON: %s", line)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "own.sock")); err == nil {
		t.Error("the daemon has made a socket of its own")
	}
}

func TestF26_WithoutRedisSystemdIsToldReadyAllTheSame(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.Kill()
	m := newManager(t, "unix://"+redis.SocketPath())
	cmd := m.start(t)
	if got := m.told(t); got != "READY=1" {
		t.Errorf("systemd was told %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, cmd.Stderr)
	}
}
