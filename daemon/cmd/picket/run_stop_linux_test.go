// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// configure appends to the scanners' agent.toml; step.vuln is its last table.
func (s scanners) configure(t *testing.T, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, "agent.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestASignalInTheLastStepDoesNotHideThatAllIsDone: what the step decided is recorded, so the asset is done.
func TestASignalInTheLastStepDoesNotHideThatAllIsDone(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	s.configure(t, "[step.assess]\ncommand = [\"sh\", \"-c\", '''echo >>\"$0\"; while ! [ -e \"$0.go\" ]; do sleep 0.05; done; echo '{\"state\": \"FINISHED\"}' ''', '"+
		filepath.Join(s.dir, "assess.log")+"']\n")
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "it is assessed", func() bool { return len(s.calls("assess")) == 1 })
	if err := r.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal has arrived", func() bool { return strings.Contains(r.log.String(), "once more") })
	if err := os.WriteFile(filepath.Join(s.dir, "assess.log.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Done || got[0].State != client.StateFinished {
		t.Errorf("it says %s", asJSON(t, got))
	}
}

// TestASignalBetweenTwoTriesIsNoFailure: there are tries left, for the next run.
func TestASignalBetweenTwoTriesIsNoFailure(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, "exit 3")
	s.configure(t, "backoff = \"10m\"\n")
	r := s.start(t, h, "web-01", "w48")
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	eventually(t, "the first try has failed", func() bool {
		ticket, err := cl.Ticket(t.Context(), "web-01", "w48")
		return err == nil && ticket.Failure != nil
	})
	if err := r.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t, exitTempFail)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Stopped || !strings.Contains(got[0].Error, "ended with 3") {
		t.Errorf("it says %s", asJSON(t, got))
	}
}

// TestWhatIsWrongWithThisHostIsNoFailureOfTheAssets: the scanner vanishes while a list is worked on. No ticket says that a step
// failed, and another host does what is left.
func TestWhatIsWrongWithThisHostIsNoFailureOfTheAssets(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02")
	s, well := newScanners(t, saysOnline, `rm "$0"; echo '{"findings": []}'`), newScanners(t, saysOnline, `echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("x\nb\nc\nd\ne\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, hosts[0], "--parallel", "1", "--give-up", "2s", "--assets", list, "--task", "w48")
	r.wait(t, exitTempFail)
	held := 0
	for _, one := range r.results(t) {
		if one.Outcome == agent.Held && strings.HasPrefix(one.Error, "something is wrong with this host: ") {
			held++
		}
	}
	if held != 4 || strings.Count(r.log.String(), "this run pauses") != 1 {
		t.Errorf("%d are left to others: %s\n%s", held, &r.out, &r.log)
	}
	well.start(t, hosts[1], "--assets", list, "--task", "w48").wait(t, 0)
	cl := client.New(hosts[1].socket)
	t.Cleanup(cl.CloseIdleConnections)
	for _, asset := range []string{"x", "b", "c", "d", "e"} {
		history, err := cl.History(t.Context(), asset, "w48")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history.Events {
			if e.Event == "failure" {
				t.Errorf("the ticket of %s tells of a failure: %s", asset, asJSON(t, e))
			}
		}
	}
}

// TestAShellThatFindsNoScannerAccusesTheHost: by the exit that POSIX gives it.
func TestAShellThatFindsNoScannerAccusesTheHost(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, "no-such-scanner-here")
	r := s.start(t, h, "--give-up", "100ms", "web-01", "w48")
	r.wait(t, exitTempFail)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Held || !strings.Contains(got[0].Error, "ended with 127") {
		t.Errorf("it says %s", asJSON(t, got))
	}
}
