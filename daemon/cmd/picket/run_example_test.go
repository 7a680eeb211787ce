// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestTheExampleOfARunWorks: as its configuration says, from the repository's root.
func TestTheExampleOfARunWorks(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	config, err := os.ReadFile("../../../examples/agent-run/agent.toml")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^# +picket (run .*)$`).FindSubmatch(config)
	if command == nil {
		t.Fatal("the example does not say how it is run")
	}
	r := &runner{cmd: exec.Command("picket", strings.Fields(string(command[1]))...)}
	r.cmd.Dir, r.cmd.Env = "../../..", append(os.Environ(), "PICKET_SOCKET="+h.socket)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0)
	high := map[string]bool{}
	for _, one := range r.results(t) {
		high[one.Asset] = one.HighRisk
	}
	if len(high) != 3 || !high["127.0.0.1"] || high["127.0.0.2"] || high["127.0.0.3"] {
		t.Errorf("it says %s", &r.out)
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	for asset, intel := range map[string]bool{"127.0.0.1": true, "127.0.0.2": false, "127.0.0.3": false} {
		ticket, err := cl.Ticket(t.Context(), asset, "w48")
		if _, asked := ticket.Steps[client.StepIntel]; err != nil || asked != intel {
			t.Errorf("%s: %s, %v", asset, asJSON(t, ticket), err)
		}
	}
	eventually(t, "people are told", func() bool { return len(hook.got()) == 1 })
}

// TestRunWaitsForARedisThatIsAway: that is no failure of an asset.
func TestRunWaitsForARedisThatIsAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	h, err := startHost("scan-01", redis.SocketPath(), "picket", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	redis.Freeze()
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "it was told", func() bool { return strings.Contains(r.log.String(), string(client.StoreUnavailable)) })
	redis.Thaw()
	r.wait(t, 0)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Done {
		t.Errorf("it says %s", asJSON(t, got))
	}
}

// TestRunFollowsADaemonThatRestarts: a restart is no failure.
func TestRunFollowsADaemonThatRestarts(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done`+"\n"+findsRisk)
	r := s.start(t, h, "web-01", "w48")
	eventually(t, "the scanner runs", func() bool { return len(s.calls("vuln")) == 1 })
	h.signal(unix.SIGTERM)
	<-h.ended
	if err := os.WriteFile(s.dir+"/vuln.go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0)
	if got := r.results(t); len(got) != 1 || got[0].Outcome != agent.Done || !got[0].HighRisk {
		t.Errorf("it says %s", asJSON(t, got))
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	history, err := cl.History(t.Context(), "web-01", "w48")
	if err != nil || strings.Contains(asJSON(t, history), `"event":"failed"`) || strings.Contains(asJSON(t, history), `"event":"failure"`) {
		t.Errorf("the history is %s, %v", asJSON(t, history), err)
	}
}

// TestRunShowsItsProgressOnATerminal: a line that is written anew, and above it a line for each asset.
func TestRunShowsItsProgressOnATerminal(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, findsRisk)
	person, programs := openTerminal(t)
	cmd := exec.Command("picket", "run", "--config", s.dir+"/agent.toml", "--socket", h.socket, "web-01", "w48")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = programs, programs, programs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = programs.Close()
	seen, _ := io.ReadAll(person) // ends with an error when the program has left the terminal
	_ = person.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	for _, want := range []string{
		"\r\x1b[K0 of 1 done, 1 running, 0 held elsewhere, 0 failed, 0 high risk",
		"done    web-01: high risk: max_cvss >= 9 (max_cvss is 10)",
		"picket: 1 of 1 done, 1 at high risk, 0 failed",
	} {
		if !strings.Contains(string(seen), want) {
			t.Errorf("the terminal shows %q, without %q", seen, want)
		}
	}
	if strings.Contains(string(seen), `{"`) {
		t.Errorf("the terminal shows JSON: %q", seen)
	}
}

// TestRunWithARealScanner: nmap against a service opened here. A report that names no port is still a whole one.
func TestRunWithARealScanner(t *testing.T) {
	t.Parallel()
	if !hasProgram("nmap") {
		t.Skip("nmap is not installed")
	}
	h := startHosts(t, "", "scan-01")[0]
	port := startService(t, "127.0.0.1:0")
	s := newScanners(t, saysOnline, "")
	config := fmt.Sprintf(`
[step.online]
tcp = [%[1]s]
[step.vuln]
command = ["nmap", "-n", "-Pn", "-p", "%[1]s", "-oX", "-", "--", "{{.Asset}}"]
parse = "nmap"
[step.assess]
high_risk = 'any(findings, .id == "open-port" and .location endsWith ":23")'
`, port)
	if err := os.WriteFile(s.dir+"/agent.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t, h, "127.0.0.1", "w48").wait(t, 0)
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	ticket, err := cl.Ticket(t.Context(), "127.0.0.1", "w48")
	if facts := string(ticket.Steps[client.StepVuln].Facts); err != nil || ticket.State != client.StateFinished || !strings.Contains(facts, `"open-port"`) ||
		!strings.Contains(facts, port) {
		t.Errorf("the ticket is %s, %v", asJSON(t, ticket), err)
	}
}
