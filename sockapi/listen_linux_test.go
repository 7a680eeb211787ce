// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestListen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "picket.sock")
	ln, err := Listen(Socket{Path: path, Mode: 0o620}, quiet())
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != fs.ModeSocket|0o620 {
		t.Errorf("the mode is %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("the folder has %v, want the socket and its lock file", entries)
	}
	go func() { _ = dial(t, path) }()
	c, err := ln.Accept()
	must(t, err)
	_ = c.Close()
	must(t, ln.Close())
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// TestF24_SocketIsNeverTooOpen looks at every name in the folder while sockets are made, from a thread that does nothing
// else: none is ever reachable with more than its mode.
func TestF24_SocketIsNeverTooOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "picket.sock")
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				info, err := e.Info()
				if err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s was seen with mode %v", e.Name(), info.Mode())
				}
			}
		}
	})
	for range 50 {
		ln, err := Listen(Socket{Path: path, Mode: 0o600}, quiet())
		must(t, err)
		must(t, ln.Close())
	}
	close(done)
	watcher.Wait()
}

// TestF23_LiveSocketIsNotRemoved: a socket on which somebody listens stays, one that nobody serves is replaced.
func TestF23_LiveSocketIsNotRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "picket.sock")
	live, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	live.SetUnlinkOnClose(false)
	if _, err := Listen(Socket{Path: path, Mode: 0o600}, quiet()); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("got %v", err)
	}
	must(t, dial(t, path).Close())
	raw, err := live.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { // children that other tests start may hold a copy for a moment
		if err := unix.Shutdown(int(fd), unix.SHUT_RDWR); err != nil {
			t.Error(err)
		}
	}))
	must(t, live.Close())
	ln, err := Listen(Socket{Path: path, Mode: 0o600}, quiet())
	must(t, err)
	if _, err := Listen(Socket{Path: path, Mode: 0o600}, quiet()); err == nil || !strings.Contains(err.Error(), path+".lock") {
		t.Errorf("a second daemon got %v", err)
	}
	must(t, ln.Close())
	must(t, os.WriteFile(path, []byte("dear"), 0o600))
	if _, err := Listen(Socket{Path: path, Mode: 0o600}, quiet()); err == nil {
		t.Error("a plain file was replaced")
	}
}

// TestCloseLeavesAnotherSocket: a listener whose socket was replaced does not take the new one with it.
func TestCloseLeavesAnotherSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "picket.sock")
	ln, err := Listen(Socket{Path: path, Mode: 0o600}, quiet())
	must(t, err)
	must(t, os.Remove(path))
	other, err := net.Listen("unix", path)
	must(t, err)
	defer other.Close()
	must(t, ln.Close())
	must(t, dial(t, path).Close())
}

// TestSocketGroup: a group that was asked for must be there; the default one may be missing, which narrows the mode.
func TestSocketGroup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "picket.sock")
	s := Socket{Path: path, Mode: 0o660, Group: "no-such-group"}
	if _, err := Listen(s, quiet()); err == nil || !strings.Contains(err.Error(), "no-such-group") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("a failed start left %v", entries)
	}
	s.GroupOptional = true
	var log strings.Builder
	ln, err := Listen(s, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the mode is %v, the log %s", info.Mode(), log.String())
	}
	must(t, ln.Close())
	if os.Getuid() != 0 {
		return
	}
	ln, err = Listen(Socket{Path: path, Mode: 0o660, Group: "daemon"}, quiet())
	must(t, err)
	info, err = os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o660 || info.Sys().(*syscall.Stat_t).Gid == 0 {
		t.Errorf("the mode is %v, the group %d", info.Mode(), info.Sys().(*syscall.Stat_t).Gid)
	}
	must(t, ln.Close())
}
