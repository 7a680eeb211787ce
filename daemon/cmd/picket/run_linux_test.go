// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// scanners is a folder with an agent.toml and what it names: programs that log what they are called for.
type scanners struct{ dir string }

// newScanners makes programs of shell scripts for the steps. Each logs the asset first.
func newScanners(t *testing.T, online, vuln string) scanners {
	t.Helper()
	s := scanners{t.TempDir()}
	for name, script := range map[string]string{"online": online, "vuln": vuln} {
		text := fmt.Sprintf("#!/bin/sh\necho \"$PICKET_ASSET $PICKET_TOKEN $$\" >>%s/%s.log\n%s\n", s.dir, name, script)
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`
[step.online]
command = ["%[1]s/online"]
[step.vuln]
command = ["%[1]s/vuln", "--", "{{.Asset}}"]
parse = "findings"
`, s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "agent.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	saysOnline = `echo '{"state": "ASSET_ONLINE"}'`
	findsRisk  = `echo '{"findings": [{"id": "CVE-2021-44228", "severity": "critical", "cvss": 10}]}'`
)

// calls are the lines of a program's log, in fields.
func (s scanners) calls(name string) [][]string {
	b, _ := os.ReadFile(filepath.Join(s.dir, name+".log"))
	var calls [][]string
	for line := range strings.Lines(string(b)) {
		calls = append(calls, strings.Fields(line))
	}
	return calls
}

// runner is a picket run on a host.
type runner struct {
	cmd      *exec.Cmd
	out, log output
}

func (s scanners) start(t *testing.T, h *host, args ...string) *runner {
	t.Helper()
	r := &runner{cmd: exec.Command("picket", append([]string{"run", "--config", filepath.Join(s.dir, "agent.toml"), "--socket", h.socket}, args...)...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		if t.Failed() {
			t.Logf("picket run says: %s", &r.log)
		}
	})
	return r
}

// wait waits for the end, which must come with that code.
func (r *runner) wait(t *testing.T, code int) {
	t.Helper()
	_ = r.cmd.Wait()
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("picket run ends with %d, want %d: %s\n%s", got, code, &r.out, &r.log)
	}
}

// results are the lines that it printed.
func (r *runner) results(t *testing.T) []agent.Result {
	t.Helper()
	var all []agent.Result
	for line := range strings.Lines(r.out.String()) {
		var one agent.Result
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q is no result: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

// TestG6_ThreeHostsShareAListAndOneDies: each asset is assessed once, and people are told of each, although a host with its
// runner and its daemon dies in the middle. The disk of the dead host comes back at the end, and with it what its daemon had
// accepted.
func TestG6_ThreeHostsShareAListAndOneDies(t *testing.T) {
	t.Parallel()
	const assets, parallel = 200, 4
	hook := startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02", "scan-03")
	s := newScanners(t, saysOnline, "sleep 0.1\n"+findsRisk)
	list := filepath.Join(s.dir, "list")
	var text strings.Builder
	for i := range assets {
		fmt.Fprintf(&text, "host-%d\n", i)
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var runners []*runner
	for _, h := range hosts {
		runners = append(runners, s.start(t, h, "--assets", list, "--task", "w48", "--parallel", strconv.Itoa(parallel)))
	}
	eventually(t, "the list is worked on", func() bool { return len(s.calls("vuln")) >= assets/4 })
	hosts[0].kill()
	_ = runners[0].cmd.Process.Kill()
	_ = runners[0].cmd.Wait()
	runners[1].wait(t, 0)
	runners[2].wait(t, 0)
	if err := hosts[0].start(); err != nil {
		t.Fatal(err)
	}

	cl := client.New(hosts[1].socket)
	t.Cleanup(cl.CloseIdleConnections)
	by := map[string]int{}
	for i := range assets {
		asset := fmt.Sprintf("host-%d", i)
		var ticket client.Ticket
		eventually(t, asset+" is finished", func() bool {
			var err error
			ticket, err = cl.Ticket(t.Context(), asset, "w48")
			return err == nil && ticket.State == client.StateFinished
		})
		history, err := cl.History(t.Context(), asset, "w48")
		if err != nil {
			t.Fatal(err)
		}
		assessed := 0
		for _, e := range history.Events {
			if e.Step == client.StepAssess {
				assessed++
				by[e.Host]++
			}
		}
		if assessed != 1 {
			t.Errorf("%s was assessed %d times: %s", asset, assessed, asJSON(t, history))
		}
	}
	if len(by) != 3 {
		t.Errorf("the hosts did not share the work: %v", by)
	}
	told := map[string]int{}
	for _, r := range hook.got() {
		told[r.key]++
	}
	twice := 0
	for i := range assets {
		switch n := told[fmt.Sprintf(`"host-%d/w48"`, i)]; {
		case n == 0:
			t.Errorf("people were not told of host-%d", i)
		case n > 1:
			twice++ // what was on its way when the host died, with the same key
		}
	}
	if len(told) != assets || twice > parallel {
		t.Errorf("people were told under %d keys, want %d; %d of them more than once", len(told), assets, twice)
	}
	// A scan that died with its host is made again; no other is.
	if n := len(s.calls("vuln")); n > assets+parallel {
		t.Errorf("%d scans were made of %d assets", n, assets)
	}
}

// TestG6_ARunResumesWhereAKilledOneStopped: and the scanner of the killed one dies with it.
func TestG6_ARunResumesWhereAKilledOneStopped(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `[ -e "$0.again" ] || exec sleep 600`+"\n"+findsRisk)
	first := s.start(t, h, "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	_ = first.cmd.Process.Kill()
	_ = first.cmd.Wait()
	scanner, err := strconv.Atoi(s.calls("vuln")[0][2])
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the scanner is gone", func() bool { return gone(scanner) })
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.again"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := s.start(t, h, "web-01", "w48")
	second.wait(t, 0)
	if got := second.results(t); len(got) != 1 || got[0].Outcome != agent.Done || !got[0].HighRisk {
		t.Errorf("it says %s", asJSON(t, got))
	}
	if online, vuln := s.calls("online"), s.calls("vuln"); len(online) != 1 || len(vuln) != 2 || vuln[0][1] == vuln[1][1] {
		t.Errorf("the programs were called with %v and %v", online, vuln)
	}
}

// TestG8_AFrozenRunLosesItsClaim: another takes over, and the frozen one's scanner is ended before anything else when it wakes.
func TestG8_AFrozenRunLosesItsClaim(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02")
	s := newScanners(t, saysOnline, `[ -e "$0.again" ] || exec sleep 600`+"\n"+findsRisk)
	frozen := s.start(t, hosts[0], "--heartbeat", "8s", "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	if err := frozen.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.again"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t, hosts[1], "web-01", "w48").wait(t, 0)
	if err := frozen.cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	frozen.wait(t, 0)
	if got := frozen.results(t); len(got) != 1 || !got[0].Skipped || got[0].State != client.StateFinished {
		t.Errorf("it says %s", asJSON(t, got))
	}
	scanner, err := strconv.Atoi(s.calls("vuln")[0][2])
	if err != nil {
		t.Fatal(err)
	}
	if !gone(scanner) {
		t.Error("the frozen run's scanner is still there")
	}
	if n := len(hook.got()); n != 1 {
		t.Errorf("people were told %d times", n)
	}
}

// TestF8_ARunEndsItsScannerWhenTheDaemonFallsSilent: at its own deadline, before anybody else could hold the lock. When the
// daemon is back, it goes on with the asset.
func TestF8_ARunEndsItsScannerWhenTheDaemonFallsSilent(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `[ -e "$0.again" ] || exec sleep 600`+"\necho '{\"findings\": []}'")
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	scanner, err := strconv.Atoi(s.calls("vuln")[0][2])
	if err != nil {
		t.Fatal(err)
	}
	h.freeze()
	eventually(t, "the scanner is gone", func() bool { return gone(scanner) })
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.again"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.thaw()
	r.wait(t, 0)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Done || len(s.calls("online")) != 1 || len(s.calls("vuln")) != 2 {
		t.Errorf("it says %s", asJSON(t, got))
	}
}

// TestF8_ARunGivesUpOnADaemonThatStaysFrozen: it keeps to --give-up, however many assets were not tried yet, and says once that
// there is no answer.
func TestF8_ARunGivesUpOnADaemonThatStaysFrozen(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, "exec sleep 600")
	list := filepath.Join(s.dir, "list")
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "host-%d\n", i)
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, h, "--parallel", "2", "--give-up", "1s", "--assets", list, "--task", "w48")
	eventually(t, "two scanners run", func() bool { return len(s.calls("vuln")) == 2 })
	h.freeze()
	r.wait(t, exitUnavailable)
	for _, one := range r.results(t) {
		if one.Outcome != agent.Held || one.Error == "" {
			t.Errorf("it says %s", asJSON(t, one))
		}
	}
	if n := strings.Count(r.log.String(), "calls are repeated"); n != 1 || len(r.results(t)) != 500 {
		t.Errorf("it says so %d times, of %d assets", n, len(r.results(t)))
	}

	never := s.start(t, h, "web-01", "w48")
	never.wait(t, exitUnavailable)
	if !strings.Contains(never.log.String(), "the daemon does not answer within 10s") {
		t.Errorf("it says %s", &never.log)
	}
}

// TestRunEndsGently: after the first INT the step that runs is finished and recorded, and nothing is begun.
func TestRunEndsGently(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, h, "--parallel", "1", "--assets", list, "--task", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	asset := s.calls("vuln")[0][0]
	if err := r.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t, exitTempFail)
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	ticket, err := cl.Ticket(t.Context(), asset, "w48")
	if err != nil || ticket.Holder != nil || ticket.State == client.StateAssetOnline {
		t.Errorf("the ticket is %s, %v", asJSON(t, ticket), err)
	}
	for _, one := range r.results(t) {
		if one.Outcome != agent.Stopped {
			t.Errorf("it says %s", asJSON(t, one))
		}
	}
	if len(r.results(t)) != 2 || len(s.calls("vuln")) != 1 {
		t.Errorf("it says %s after %v", &r.out, s.calls("vuln"))
	}
}

// TestRunEndsAtOnce: at the second INT what runs is ended, and its claim released.
func TestRunEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, "exec sleep 600")
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	scanner, err := strconv.Atoi(s.calls("vuln")[0][2])
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first signal has arrived", func() bool { return strings.Contains(r.log.String(), "once more") })
	if err := r.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	r.wait(t, exitTempFail)
	if !gone(scanner) {
		t.Error("the scanner is still there")
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	if ticket, err := cl.Ticket(t.Context(), "web-01", "w48"); err != nil || ticket.Holder != nil || ticket.Failure != nil {
		t.Errorf("the ticket is %s, %v", asJSON(t, ticket), err)
	}
}
