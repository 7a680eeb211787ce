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

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// addressList writes a list of so many assets, each an address of this machine that refuses, and a configuration to which that is an
// offline one.
func addressList(t *testing.T, n int) (s scanners, list string, assets []string) {
	t.Helper()
	s = scanners{t.TempDir()}
	list = filepath.Join(s.dir, "list")
	for i := range n {
		assets = append(assets, fmt.Sprintf("127.1.%d.%d", i/200, i%200+1))
	}
	config := "[step.online]\ntcp = [9]\nrefused = \"offline\"\n[step.vuln]\ncommand = [\"false\"]\nparse = \"findings\"\n"
	for file, text := range map[string]string{"list": strings.Join(assets, "\n"), "agent.toml": config} {
		if err := os.WriteFile(filepath.Join(s.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, list, assets
}

// TestG6_AListOutlivesItsHosts: one dies, one stands still and wakes when all is done, and the last one does what they left. Who
// comes then passes over it, but for a ticket that was reopened, or is missing.
func TestG6_AListOutlivesItsHosts(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02", "scan-03")
	s, list, assets := addressList(t, 900)
	cl := client.New(hosts[2].socket)
	t.Cleanup(cl.CloseIdleConnections)
	done := func() (n int) {
		for _, a := range assets {
			if ticket, err := cl.Ticket(t.Context(), a, "w48"); err == nil && ticket.State == client.StateFinished {
				n++
			}
		}
		return n
	}
	var runs []*runner
	for _, h := range hosts {
		runs = append(runs, s.start(t, h, "--assets", list, "--task", "w48", "--heartbeat", "2s", "--parallel", "2"))
	}
	eventually(t, "the list is worked on", func() bool { return strings.Count(runs[0].out.String()+runs[1].out.String(), "\n") > 30 })
	hosts[0].kill()
	_ = runs[0].cmd.Process.Kill()
	_ = runs[1].cmd.Process.Signal(unix.SIGSTOP)
	runs[2].wait(t, 0)
	if n := done(); n != len(assets) {
		t.Errorf("%d of %d are done", n, len(assets))
	}
	_ = runs[1].cmd.Process.Signal(unix.SIGCONT)
	runs[1].wait(t, 0)
	if strings.Contains(runs[2].out.String()+runs[2].log.String(), "gone over again") {
		t.Error("the list was gone over again for nothing")
	}
	worked := func(wantCode int) (names []string) {
		t.Helper()
		r := s.start(t, hosts[2], "--assets", list, "--task", "w48")
		r.wait(t, wantCode)
		results := r.results(t)
		for _, one := range results {
			if one.Outcome != agent.Done || one.State != client.StateFinished {
				t.Errorf("it says %+v", one)
			}
			if !one.Skipped {
				names = append(names, one.Asset)
			}
		}
		if len(results) != len(assets) {
			t.Errorf("it tells of %d assets, want %d", len(results), len(assets))
		}
		return names
	}
	if got := worked(0); len(got) > 0 {
		t.Errorf("%v were done again", got)
	}
	if _, err := cl.Reopen(t.Context(), assets[17], "w48", "once more"); err != nil {
		t.Fatal(err)
	}
	if got := worked(0); len(got) != 1 || got[0] != assets[17] {
		t.Errorf("%v were done again", got)
	}
}

// TestAListUnderWayIsGoneOverAgain: when a ticket that was done is reopened before the run has ended.
func TestAListUnderWayIsGoneOverAgain(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `case $PICKET_ASSET in last) while ! [ -e "$0.go" ]; do sleep 0.05; done ;; esac; echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, h, "--assets", list, "--task", "w48")
	eventually(t, "two of three are done", func() bool { return strings.Count(r.out.String(), "\n") == 2 })
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	if _, err := cl.Reopen(t.Context(), "web-02", "w48", "once more"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0)
	ticket, err := cl.Ticket(t.Context(), "web-02", "w48")
	if err != nil || ticket.State != client.StateFinished || ticket.Run != 2 || !strings.Contains(r.log.String(), "picket: 3 of 3 done") || len(r.results(t)) != 4 {
		t.Errorf("the ticket is %s, %v; it says %s, %s", asJSON(t, ticket), err, &r.out, &r.log)
	}
}

// TestTheProgressOfAListIsThatOfAllHosts: on one, which does nothing, there is to be seen what another does.
func TestTheProgressOfAListIsThatOfAllHosts(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02")
	s := newScanners(t, saysOnline, `[ "$PICKET_SOCKET" != `+hosts[0].socket+` ] || while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\nweb-03\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	person, programs := openTerminal(t)
	cmd := exec.Command("picket", "run", "--config", s.dir+"/agent.toml", "--socket", hosts[0].socket, "--parallel", "1", "--assets", list, "--task", "w48")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = programs, programs, programs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_ = programs.Close()
	var seen output
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&seen, person)
	}()
	eventually(t, "an asset is worked on", func() bool { return len(s.calls("vuln")) == 1 })
	s.start(t, hosts[1], "--assets", list, "--task", "w48", "--give-up", "1s").wait(t, exitTempFail)
	eventually(t, "the other's work is seen", func() bool { return strings.Contains(seen.String(), "2 of 3 done (0 here), 1 running") })
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-read
	_ = person.Close()
	if want := "picket: 3 of 3 done ("; !strings.Contains(seen.String(), want) {
		t.Errorf("it shows %q, without %q", &seen, want)
	}
}
