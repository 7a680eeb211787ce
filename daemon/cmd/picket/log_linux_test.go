// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// intoJournal has a command's standard error lead to journald, as systemd does for a service.
func intoJournal(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "/run/systemd/journal/stdout", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "picket\n\n6\n1\n0\n0\n0\n"); err != nil {
		t.Fatal(err)
	}
	stream, err := conn.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	var is unix.Stat_t
	if err := unix.Fstat(int(stream.Fd()), &is); err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stream
	cmd.Env = append(os.Environ(), fmt.Sprintf("JOURNAL_STREAM=%d:%d", is.Dev, is.Ino))
}

// logged reports whether the journal has words with at least a priority.
func logged(t *testing.T, priority, words string) bool {
	t.Helper()
	out, err := exec.Command("journalctl", "--no-pager", "--output=cat", "--priority="+priority).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(out), words)
}

// TestF27_TheDaemonOutlivesJournald: it says what it has to say again when there is a journald again, with its priority.
func TestF27_TheDaemonOutlivesJournald(t *testing.T) {
	inJournal(t, func(t *testing.T, journal *os.Process) {
		h, _ := journalHost(t)
		h.kill()
		config := filepath.Join(h.dir, "picket.toml")
		h.cmd, h.ended = exec.Command("picket", "daemon", "--config", config), make(chan struct{})
		intoJournal(t, h.cmd)
		systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(h.dir, "notify")})
		if err != nil {
			t.Fatal(err)
		}
		defer systemd.Close()
		h.cmd.Env = append(h.cmd.Env, "NOTIFY_SOCKET="+systemd.LocalAddr().String())
		told := make(chan string, 100)
		go func() {
			for b := make([]byte, 4096); ; {
				n, err := systemd.Read(b)
				if err != nil {
					return
				}
				told <- string(b[:n])
			}
		}()
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(h.ended)
			_ = h.cmd.Wait()
		}()
		if err := h.awaitReady(); err != nil {
			t.Fatal(err)
		}
		until(t, "its start is logged", func() bool { return logged(t, "info", `"MESSAGE":"started"`) })
		_ = journal.Kill()
		_, _ = journal.Wait()
		for range 3 {
			h.signal(syscall.SIGHUP)
			for !strings.HasPrefix(<-told, "RELOADING=1") {
			}
			for <-told != "READY=1" { // what came of it is logged before
			}
		}
		runJournald(t)
		bad := filepath.Join(h.dir, "bad.toml")
		if err := os.WriteFile(bad, []byte("lock.ttl = 3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(bad, config); err != nil {
			t.Fatal(err)
		}
		until(t, "it logs again", func() bool {
			h.signal(syscall.SIGHUP)
			return logged(t, "err", "the configuration on disk is wrong")
		})
		if !logged(t, "warning", "lines of this log were dropped") {
			t.Error("what could not be logged is not told of")
		}
		if logged(t, "warning", `"MESSAGE":"started"`) {
			t.Error("everything is logged as a warning")
		}
		cmd := exec.Command("picket", "daemon", "--config", config)
		intoJournal(t, cmd)
		if err := cmd.Run(); err == nil {
			t.Error("a daemon starts with a wrong configuration")
		}
		until(t, "why it did not start is logged as an error", func() bool { return logged(t, "err", "picket: "+config) })
	})
}

// TestRunOutlivesWhoReadsIt: it goes through its list, and says at the end that the results could not be printed.
func TestRunOutlivesWhoReadsIt(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "assets")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\nweb-03\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	cmd := exec.Command("picket", "run", "--config", filepath.Join(s.dir, "agent.toml"), "--socket", h.socket, "--assets", list, "--task", "w48", "--parallel", "1")
	cmd.Stdout, cmd.Stderr = writer, writer
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != exitFailed {
		t.Errorf("it ends with %s, want %d", cmd.ProcessState, exitFailed)
	}
	if calls := s.calls("vuln"); len(calls) != 3 {
		t.Errorf("the scanner was called with %v", calls)
	}
}
