// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// inNamespace says to a test that it runs in a mount namespace of its own.
const inNamespace = "PICKET_TEST_NAMESPACE"

const journald = "/lib/systemd/systemd-journald"

// inJournal runs a test once more, in a mount namespace with a journald of its own, which sees nothing of the machine's.
func inJournal(t *testing.T, test func(t *testing.T, journal *os.Process)) {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		test(t, startJournald(t))
		return
	}
	t.Parallel()
	if _, err := os.Stat(journald); err != nil {
		t.Skip(journald + " is missing: it is in Debian's package systemd")
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("a mount namespace cannot be made (root is needed, and a container that allows it): %v %s", err, out)
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
}

func startJournald(t *testing.T) *os.Process {
	t.Helper()
	for _, folder := range []string{"/run", "/var/log"} {
		if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"/run/systemd/journal", "/run/log/journal"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return runJournald(t)
}

// runJournald runs one until the test ends, for the first time or again.
func runJournald(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.Command(journald)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "SYSTEMD_LOG_TARGET=console")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	until(t, "journald listens", func() bool {
		c, err := net.Dial("unixgram", "/run/systemd/journal/socket")
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
	return cmd.Process
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is still not so: %s", what)
		}
	}
}

// picketAudit runs the command and returns its exit code and what it printed.
func picketAudit(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var b, errs bytes.Buffer
	code = runs(append([]string{"picket", "audit"}, args...), strings.NewReader(""), &b, &errs)
	return code, b.String() + errs.String()
}

// auditEntries are what picket audit --json prints.
func auditEntries(t *testing.T, args ...string) (entries []audit.Record) {
	t.Helper()
	code, out := picketAudit(t, append(args, "--json")...)
	if i := strings.LastIndex(out, "\npicket: left out"); i >= 0 {
		out = out[:i+1]
	} else if strings.HasPrefix(out, "picket: left out") {
		out = ""
	}
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		var e audit.Record
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		entries = append(entries, e)
	}
	return entries
}

func journalHost(t *testing.T) (*host, *client.Client) {
	t.Helper()
	h, err := startHost("host-a", redistest.Start(t).SocketPath(), "p", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	c := client.New(h.socket)
	t.Cleanup(c.CloseIdleConnections)
	return h, c
}

// TestG12_TheJournalTellsTheStory: with the fields that people search by, exactly, and nobody else's words.
func TestG12_TheJournalTellsTheStory(t *testing.T) {
	inJournal(t, func(t *testing.T, _ *os.Process) {
		h, c := journalHost(t)
		odd := "böse *?[a]'\"$(x) + = / b"
		for _, asset := range []string{"web-01.example", "web-01.example2", odd} {
			got, err := c.Claim(t.Context(), client.ClaimRequest{Asset: asset, Task: "t", Heartbeat: "5m"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Step(t.Context(), got.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Step(t.Context(), got.Claim.ID, client.StepRequest{Step: client.StepVuln, State: client.StateVulnCheckDone}); err == nil {
				t.Error("an offline asset was checked")
			}
		}
		forge(t)
		h.stop()
		until(t, "the last record is in the journal", func() bool {
			_, out := picketAudit(t)
			return strings.Contains(out, " stopped ")
		})
		for _, asset := range []string{"web-01.example", odd} {
			for _, how := range [][]string{{"--asset", asset}, {"--ticket", asset + "/t"}, {"--ticket", asset + "/t", "--agent", fmt.Sprintf("%d/0", os.Getpid()), "--since", "1h"}} {
				var story []string
				for _, e := range auditEntries(t, how...) {
					if e.Asset != asset {
						t.Errorf("%v: got %+v", how, e)
					}
					story = append(story, string(e.Kind))
				}
				if fmt.Sprint(story) != "[claimed step refused]" {
					t.Errorf("%v tells %v", how, story)
				}
			}
			if got := auditEntries(t, "--asset", asset, "--refused"); len(got) != 1 || got[0].Code != "ILLEGAL_TRANSITION" {
				t.Errorf("refused is %+v", got)
			}
		}
		if got := auditEntries(t, "--asset", "WEB-01.example", "--since", "2099-01-01"); len(got) != 0 {
			t.Errorf("in the future is %+v", got)
		}
		if got := auditEntries(t, "--asset", "WEB-01.Example."); len(got) != 3 {
			t.Errorf("an asset in another form has %d records", len(got))
		}
		if code, out := picketAudit(t, "--verify"); code != 0 || !strings.Contains(out, "stopped") || strings.Contains(out, "forged") {
			t.Errorf("exit %d: %s", code, out)
		}
		if _, out := picketAudit(t); !strings.Contains(out, "left out 2 records of uid 12345") {
			t.Errorf("a forged record is not told of:\n%s", out)
		}
		out, err := exec.Command("journalctl", "--no-pager", "-o", "cat", "PICKET_TICKET=web-01.example/t").CombinedOutput()
		if err != nil || strings.Count(string(out), "\n") != 3 || !strings.Contains(string(out), "web-01.example/t: step online is recorded, INIT → ASSET_OFFLINE") {
			t.Errorf("journalctl says %v\n%s", err, out)
		}
	})
}

// forge sends a record as another user.
func TestG12_ARefusedStartLeavesARecord(t *testing.T) {
	inJournal(t, func(t *testing.T, _ *os.Process) {
		config := filepath.Join(t.TempDir(), "picket.toml")
		if err := os.WriteFile(config, []byte("nonsense = 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code := runs([]string{"picket", "daemon", "--config", config}, strings.NewReader(""), io.Discard, io.Discard); code != exitConfig {
			t.Fatalf("it ends with %d", code)
		}
		until(t, "the record is there", func() bool {
			code, out := picketAudit(t, "--json")
			return code == 0 && strings.Contains(out, "config_refused")
		})
	})
}

func forge(t *testing.T) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		_, _, no := unix.RawSyscall(unix.SYS_SETRESUID, 12345, 12345, 12345)
		c, err := net.Dial("unixgram", "/run/systemd/journal/socket")
		if no == 0 && err == nil {
			// a record that cannot be read is a stranger's first of all
			_, err = io.WriteString(c, "SYSLOG_IDENTIFIER=picket\nPICKET_EVENT=step\nPICKET_SEQ=abc\n")
		}
		if no == 0 && err == nil {
			_, err = io.WriteString(c, "MESSAGE=forged\nSYSLOG_IDENTIFIER=picket\nPICKET_EVENT=step\nPICKET_RUN=forged\nPICKET_SEQ=7\nPICKET_TIME=2026-11-29T08:00:00.000000Z\nPICKET_ASSET=web-01.example\n")
		}
		if no != 0 {
			err = errors.Join(err, no)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestWhoSeesOnlyItsOwnRecordsIsTold: journald gives each user a file that it may read, and that is no reason to say nothing.
func TestWhoSeesOnlyItsOwnRecordsIsTold(t *testing.T) {
	inJournal(t, func(t *testing.T, _ *os.Process) {
		forge(t)
		until(t, "it is in the journal", func() bool {
			_, out := picketAudit(t)
			return strings.Contains(out, "left out")
		})
		own := "/run/log/journal/00000000000000000000000000000001"
		if err := os.Mkdir(own, 0o755); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob("/run/log/journal/*/system.journal")
		if err != nil || len(files) == 0 {
			t.Fatalf("journald has no file: %v", err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(own+"/user-12345.journal", b, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		binary, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("/run/picket", binary, 0o755); err != nil { // where anybody may run it
			t.Fatal(err)
		}
		for _, args := range [][]string{nil, {"--verify"}, {"--follow"}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/run/picket", append([]string{"audit"}, args...)...)
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != exitNoPerm || !strings.Contains(string(out), "join the group systemd-journal or adm") {
				t.Errorf("%v: exit %d: %s", args, got, out)
			}
		}
	})
}

// TestF27_AFrozenJournald: claims are kept and calls are answered, what the journal misses is counted and told.
func TestF27_AFrozenJournald(t *testing.T) {
	inJournal(t, func(t *testing.T, journal *os.Process) {
		h, c := journalHost(t)
		got, err := c.Claim(t.Context(), client.ClaimRequest{Asset: "held.example", Task: "t", Heartbeat: "5m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for strings.Contains(metricsOf(t, h), "\npicket_audit_dropped_total 0\n") {
			for range 500 { // accepted ones: refusals of one kind are only counted
				_, _ = c.Step(t.Context(), got.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline})
			}
		}
		for range 6 { // longer than the lock's ttl without a renewal
			time.Sleep(time.Second)
			if k, err := c.GetClaim(t.Context(), got.Claim.ID); err != nil || k.Status != client.StatusHeld {
				t.Errorf("the claim is %s, %v", k.Status, err)
			}
		}
		if _, err := c.Step(t.Context(), got.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline}); err != nil {
			t.Error(err)
		}
		if err := journal.Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		until(t, "the drops are told", func() bool {
			_, out := picketAudit(t)
			return strings.Contains(out, " dropped ")
		})
		h.stop()
		until(t, "the last record is in the journal", func() bool {
			_, out := picketAudit(t)
			return strings.Contains(out, " stopped ")
		})
		code, out := picketAudit(t, "--verify", "--json")
		var verdict struct{ Runs []audit.Run }
		if err := json.Unmarshal([]byte(out), &verdict); err != nil || code != 0 || len(verdict.Runs) != 1 || len(verdict.Runs[0].Dropped) == 0 {
			t.Errorf("exit %d: %v\n%s", code, err, out)
		}
	})
}

func metricsOf(t *testing.T, h *host) string {
	t.Helper()
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.socket)
	}}}
	resp, err := web.Get("http://picket/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
