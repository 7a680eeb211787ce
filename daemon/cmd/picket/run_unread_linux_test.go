// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// unread starts a run over a long list, whose output nobody reads, or has been closed, or has no room.
func (s scanners) unread(t *testing.T, h *host, assets int, stdout, stderr *os.File) *exec.Cmd {
	t.Helper()
	list := filepath.Join(s.dir, "list")
	var text strings.Builder
	for i := range assets {
		fmt.Fprintf(&text, "host-%d.%s\n", i, strings.Repeat("x", 200))
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("picket", "run", "--config", filepath.Join(s.dir, "agent.toml"), "--socket", h.socket, "--parallel", "8", "--assets", list, "--task", "w48")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// tinyPipe is a pipe with room for a page.
func tinyPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	return r, w
}

// TestOutputThatNobodyReadsHoldsNoWork: all assets are done, and at the end a signal is enough.
func TestOutputThatNobodyReadsHoldsNoWork(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo "what nobody reads" >&2; echo '{"findings": []}'`)
	_, out := tinyPipe(t)
	_, errs := tinyPipe(t)
	const assets = 60
	cmd := s.unread(t, h, assets, out, errs)
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	eventually(t, "all assets are done and no claim is held", func() bool {
		list, err := cl.Tickets(t.Context(), client.TicketQuery{State: client.StateFinished, Limit: 100})
		status, err2 := cl.Status(t.Context())
		return err == nil && err2 == nil && len(list.Tickets) == assets && status.Claims == 0
	})
	for range 2 {
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two signals at once are one
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("it ends with %d", code)
	}
}

// TestTheSecondSignalEndsARunWhoseOutputIsBlocked: in the middle of its work, at once.
func TestTheSecondSignalEndsARunWhoseOutputIsBlocked(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `yes "what nobody reads" | head -n 400 >&2; exec sleep 600`)
	_, out := tinyPipe(t)
	_, errs := tinyPipe(t)
	cmd := s.unread(t, h, 8, out, errs)
	eventually(t, "the scanners run", func() bool { return len(s.calls("vuln")) == 8 })
	for range 2 {
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = cmd.Wait()
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	if status, err := cl.Status(t.Context()); err != nil || status.Claims != 0 {
		t.Errorf("%d claims are held, %v", status.Claims, err)
	}
}

// TestAClosedOrFullOutputEndsNoWork: the run says at its end that its results could not be printed.
func TestAClosedOrFullOutputEndsNoWork(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*os.File, error){
		"closed": func() (*os.File, error) {
			r, w, err := os.Pipe()
			if err == nil {
				err = r.Close()
			}
			return w, err
		},
		"full": func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHosts(t, "", "scan-01")[0]
			s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
			out, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd := s.unread(t, h, 20, out, out)
			_ = cmd.Wait()
			cl := client.New(h.socket)
			t.Cleanup(cl.CloseIdleConnections)
			list, err := cl.Tickets(t.Context(), client.TicketQuery{State: client.StateFinished, Limit: 100})
			if code := cmd.ProcessState.ExitCode(); err != nil || len(list.Tickets) != 20 || code != exitFailed {
				t.Errorf("%d are done, %v; it ends with %d", len(list.Tickets), err, code)
			}
		})
	}
}

// TestATerminalThatGoesAwayEndsARunGently: HUP is as TERM, and never the second signal. With nohup it is nothing.
func TestATerminalThatGoesAwayEndsARunGently(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	for range 2 {
		if err := r.cmd.Process.Signal(unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the signal has arrived", func() bool { return strings.Contains(r.log.String(), "once more") })
	}
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t, exitTempFail)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Stopped || got[0].State != client.StateVulnCheckDone {
		t.Errorf("it says %s", asJSON(t, got))
	}
}

// TestADumbTerminalGetsLines: and nothing that only another one understands.
func TestADumbTerminalGetsLines(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	person, programs := openTerminal(t)
	cmd := exec.Command("picket", "run", "--config", filepath.Join(s.dir, "agent.toml"), "--socket", h.socket, "web-01", "w48")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	cmd.Stdout, cmd.Stderr = programs, programs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = programs.Close()
	seen, _ := io.ReadAll(person)
	if err := cmd.Wait(); err != nil || strings.Contains(string(seen), "\x1b") || !strings.Contains(string(seen), "done    web-01: no high risk") {
		t.Errorf("%v: it shows %q", err, seen)
	}
}
