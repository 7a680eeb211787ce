// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// shown is a picket run on a terminal of its own.
type shown struct {
	cmd    *exec.Cmd
	screen output
	read   chan struct{} // closes when the program has left the terminal
}

func (s scanners) show(t *testing.T, h *host, args ...string) *shown {
	t.Helper()
	person, programs := openTerminal(t)
	r := &shown{read: make(chan struct{})}
	r.cmd = exec.Command("picket", append([]string{"run", "--config", s.dir + "/agent.toml", "--socket", h.socket}, args...)...)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = programs, programs, programs
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = programs.Close()
	go func() {
		defer close(r.read)
		_, _ = io.Copy(&r.screen, person)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		<-r.read
		_ = person.Close()
	})
	return r
}

// wait waits for the end, which must come with that code, and returns what the terminal has shown, but for the line of progress.
func (r *shown) wait(t *testing.T, code int) []string {
	t.Helper()
	_ = r.cmd.Wait()
	<-r.read
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("picket run ends with %d, want %d: %s", got, code, &r.screen)
	}
	var lines []string
	for line := range strings.SplitSeq(r.screen.String(), "\r\n") {
		if at := strings.LastIndex(line, "\x1b[K"); at >= 0 {
			line = line[at+len("\x1b[K"):]
		}
		lines = append(lines, line)
	}
	return lines
}

func (s scanners) list(t *testing.T, assets ...string) string {
	t.Helper()
	file := filepath.Join(s.dir, "list")
	if err := os.WriteFile(file, []byte(strings.Join(assets, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func count(lines []string, part string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// TestRunTellsPeopleEachThingOnce: a line for what was done and what failed, lists at the end, and no line for what was done before.
func TestRunTellsPeopleEachThingOnce(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `case $2 in bad*) echo "no route to $2" >&2; exit 3;; esac; echo '{"findings": []}'`)
	s.configure(t, "retries = 2\nbackoff = \"10ms\"\n")
	list := s.list(t, "good-1", "good-2", "bad-1", "bad-2", "bad-3", "bad-4", "a b")
	lines := s.show(t, h, "--assets", list, "--task", "w48").wait(t, exitFailed)
	for part, want := range map[string]int{
		"done    good-": 2, "failed  bad-": 4, "failed  a b": 0, "warning the daemon has no channel": 1,
		"4 failed:": 1, "ended with 3": 5, "no route to ASSET": 1, " and 1 more": 1, "picket: 3 of 7 done, 0 at high risk, 4 failed": 1,
	} {
		if n := count(lines, part); n != want {
			t.Errorf("%q stands in %d lines, want %d: %q", part, n, want, lines)
		}
	}
	lines = s.show(t, h, "--assets", list, "--task", "w48").wait(t, exitFailed)
	if count(lines, "good-") > 0 || count(lines, "picket: 3 of 7 done (3 before)") != 1 {
		t.Errorf("the second time it says %q", lines)
	}

	list = s.list(t, "good-1", "good-2")
	again := s.start(t, h, "--assets", list, "--task", "w48")
	again.wait(t, 0)
	if n := strings.Count(again.log.String(), "picket: nothing was scanned: under this task all was done before"); n != 1 || len(again.results(t)) != 2 {
		t.Errorf("of a list that was done before it says %s\n%s", &again.log, &again.out)
	}
}

// TestAnInterruptedRunPrintsOneLine: not one for each asset that is left.
func TestAnInterruptedRunPrintsOneLine(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	r := s.show(t, h, "--parallel", "2", "--assets", s.list(t, "a1", "a2", "a3", "a4", "a5", "a6"), "--task", "w48")
	eventually(t, "two are scanned", func() bool { return len(s.calls("vuln")) == 2 })
	if err := r.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal has arrived", func() bool { return strings.Contains(r.screen.String(), "once more") })
	if err := os.WriteFile(s.dir+"/vuln.go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(r.wait(t, exitTempFail), func(line string) bool { return line == "" || strings.Contains(line, "no channel") })
	if len(lines) != 2 || !strings.Contains(lines[1], "6 not done because the run was ended") {
		t.Errorf("it says %q", lines)
	}
}

// TestRunSaysWhatIsAway: the daemon or Redis, since when, and not that another has the assets.
func TestRunSaysWhatIsAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	h, err := startHost("scan-01", redis.SocketPath(), "picket", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	list := s.list(t, "a1", "a2", "a3")
	args := []string{"--parallel", "1", "--give-up", "1s", "--assets", list, "--task", "w48"}
	for _, c := range []struct {
		away, back func()
		says       string
	}{
		{h.kill, func() { err = h.start() }, "the daemon is away"},
		{redis.Kill, redis.Restart, "Redis is away"},
	} {
		r := s.show(t, h, args...)
		scanned := len(s.calls("vuln"))
		eventually(t, "one is scanned", func() bool { return len(s.calls("vuln")) > scanned })
		c.away()
		lines := r.wait(t, exitUnavailable)
		if !strings.Contains(r.screen.String(), "\x1b[K"+c.says+" since ") || count(lines, "picket: 0 of 3 done, 0 at high risk, 0 failed, 3 put off") != 1 ||
			count(lines, "; "+c.says+" since ") != 1 || count(lines, "held") > 0 {
			t.Errorf("when %s it shows %q", c.says, lines)
		}
		c.back()
		if err == nil {
			err = h.awaitReady()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatFailsEverywhereIsLeftAlone: the first host tries a step as often as it may, each other one once, until it rests for
// all of them. Whoever wants to, may.
func TestWhatFailsEverywhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02")
	s := newScanners(t, saysOnline, "echo broken >&2; exit 3")
	s.configure(t, "retries = 2\nbackoff = \"10ms\"\n")
	list := s.list(t, "web-01")
	tries := 0
	for n, want := range []int{3, 1, 1, 1, 0, 0, 1} {
		args := []string{"--assets", list, "--task", "w48"}
		if n == 6 {
			args = append(args, "--again")
		}
		r := s.start(t, hosts[n%2], args...)
		r.wait(t, exitFailed)
		got := len(s.calls("vuln")) - tries
		tries += got
		result := r.results(t)
		if got != want || len(result) != 1 || result[0].Outcome != agent.Failed || !strings.Contains(result[0].Error, "broken") {
			t.Errorf("run %d: %d tries, want %d: %s", n, got, want, &r.out)
		}
		if rests := strings.Contains(result[0].Error, "failed "+strconv.Itoa(6)+" times, last at "); rests != (want == 0) {
			t.Errorf("run %d says %s", n, &r.out)
		}
	}
	cl := client.New(hosts[0].socket)
	t.Cleanup(cl.CloseIdleConnections)
	if ticket, err := cl.Ticket(t.Context(), "web-01", "w48"); err != nil || ticket.Failure == nil || ticket.Failure.Count != 7 || ticket.State != client.StateAssetOnline {
		t.Errorf("the ticket is %s, %v", asJSON(t, ticket), err)
	}
}

// TestExecSaysWhyAClaimIsLost: as the daemon tells it; and when that is away, that it is.
func TestExecSaysWhyAClaimIsLost(t *testing.T) {
	t.Parallel()
	for says, away := range map[string]func(*host, *redistest.Server){
		"was lost (expired)": func(_ *host, redis *redistest.Server) { redis.Freeze() },
		"was lost (the daemon was away for as long as it could be trusted)": func(h *host, _ *redistest.Server) { h.kill() },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			h, err := startHost("scan-01", redis.SocketPath(), "picket", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.stop)
			e := startExec(t, &fakeDaemon{socket: h.socket}, `echo $$ > leader; while :; do sleep 0.02; done`)
			e.pid("leader")
			away(h, redis)
			e.exits(exitLost)
			if !strings.Contains(e.errs.String(), says) {
				t.Errorf("it says %s, want %s", &e.errs, says)
			}
		})
	}
}
