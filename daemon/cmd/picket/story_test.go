// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// agent builds the example agent in Go.
func agent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent-go")
	if out, err := exec.Command("go", "build", "-o", path, "../../../examples/agent-go").CombinedOutput(); err != nil {
		t.Fatalf("cannot build the agent: %v\n%s", err, out)
	}
	return path
}

// webhook is a receiver that keeps what it was sent.
type webhook struct {
	url string

	mu       sync.Mutex // guards what follows
	requests []received
}

type received struct {
	key  string
	body []byte
}

func startWebhook(t *testing.T) *webhook {
	t.Helper()
	w := &webhook{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, received{r.Header.Get("Idempotency-Key"), body})
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *webhook) channel() string {
	return "[[channel]]\nname = \"ops\"\ntype = \"webhook\"\nurl = \"" + w.url + "/hook\"\n"
}

func (w *webhook) got() []received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// startService is an asset's service on loopback. Whoever connects first waits in vain for its greeting, until the
// connection is closed; later ones are greeted.
func startService(t *testing.T) (addr string, first <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if n == 0 {
				close(connected)
			} else {
				_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n")
			}
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String(), connected
}

func startHosts(t *testing.T, channels string, names ...string) []*host {
	t.Helper()
	redis := redistest.Start(t)
	var hosts []*host
	for _, name := range names {
		h, err := startHost(name, redis.SocketPath(), "picket", channels)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			h.stop()
			if t.Failed() || h.crashed() {
				t.Errorf("%s says: %s", name, &h.log)
			}
		})
		hosts = append(hosts, h)
	}
	return hosts
}

// TestG2_TheFrozenWriterIsRefused is the story that Picket exists for: A is about to find a machine offline when it freezes,
// and its host with it. B takes over, finds the machine online with a critical vulnerability, and people are told. A wakes
// and writes OFFLINE.
func TestG2_TheFrozenWriterIsRefused(t *testing.T) {
	t.Parallel()
	program, hook := agent(t), startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02")
	target, connected := startService(t)
	run := func(h *host) *exec.Cmd {
		return exec.Command(program, "-socket", h.socket, "-target", target, "-report", "../../../examples/findings/trivy.json",
			"web-01", "w48")
	}

	var said bytes.Buffer
	a := run(hosts[0])
	a.Stderr = &said
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if a.ProcessState == nil {
			_ = a.Process.Kill()
			_ = a.Wait()
		}
	})
	select {
	case <-connected:
	case <-time.After(20 * time.Second):
		t.Fatal("A does not look at the service")
	}
	_ = a.Process.Signal(unix.SIGSTOP)
	hosts[0].freeze()

	b := run(hosts[1])
	if out, err := b.CombinedOutput(); err != nil {
		t.Fatalf("B could not take over: %v\n%s", err, out)
	}
	cl := client.New(hosts[1].socket)
	t.Cleanup(cl.CloseIdleConnections)
	before, err := cl.Ticket(t.Context(), "web-01", "w48")
	if err != nil || before.State != stateFinished || before.Steps["online"].State != "ASSET_ONLINE" {
		t.Fatalf("B leaves %+v, %v", before, err)
	}

	hosts[0].thaw()
	_ = a.Process.Signal(unix.SIGCONT)
	_ = a.Wait()
	if code := a.ProcessState.ExitCode(); code != exitLost {
		t.Fatalf("A exits with %d, want %d; it says: %s", code, exitLost, &said)
	}

	after, err := cl.Ticket(t.Context(), "web-01", "w48")
	if err != nil {
		t.Fatal(err)
	}
	if was, is := asJSON(t, before), asJSON(t, after); was != is {
		t.Errorf("A has changed the ticket from\n%s\nto\n%s", was, is)
	}
	history, err := cl.History(t.Context(), "web-01", "w48")
	if err != nil {
		t.Fatal(err)
	}
	if r := history.Refused; len(r) != 1 || r[0].To != "ASSET_OFFLINE" || r[0].Host != "scan-01" || r[0].Token >= after.Token {
		t.Errorf("refused were %+v", r)
	}
	checkHistory(t, history, after)
	if got := hook.got(); len(got) != 1 || got[0].key != `"web-01/w48"` || !bytes.Contains(got[0].body, []byte("CVE-2021-44228")) {
		t.Errorf("people were told %d times: %q", len(got), got)
	}
}

// checkHistory checks that events are numbered without gaps, follow each other, and that tokens only grow.
func checkHistory(t *testing.T, h client.History, ticket client.Ticket) {
	t.Helper()
	state, token := "", int64(0)
	for i, e := range h.Events {
		if e.Seq != int64(i+1) || e.From != state {
			t.Errorf("event %d is %+v after state %q", i+1, e, state)
		}
		if e.Event == "claimed" && e.Token <= token {
			t.Errorf("token %d follows %d", e.Token, token)
		}
		if e.Event == "claimed" {
			token = e.Token
		}
		state = e.To
	}
	if state != ticket.State || ticket.Revision != int64(len(h.Events)) {
		t.Errorf("the history ends in %s after %d events, the ticket is %s at %d", state, len(h.Events), ticket.State, ticket.Revision)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestExampleAgents(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	target, _ := startService(t)
	address, port, err := net.SplitHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	report, empty := "../../../examples/findings/trivy.json", filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{"Results": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := func(asset, port, report string) []string {
		return []string{"picket", "exec", asset, "w48", "--", "../../../examples/agent.sh", address, port, report}
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	for _, c := range []struct {
		asset   string
		command []string
		summary string
		steps   int
	}{
		{"risky", shell("risky", port, report), "2 critical findings", 3},
		{"clean", shell("clean", port, empty), "", 3},
		{"offline", shell("offline", "1", report), "", 1},
		{"curl", []string{"../../../examples/agent-curl.sh", "curl", "w48"}, "nothing found", 2},
	} {
		t.Run(c.asset, func(t *testing.T) {
			if c.asset == "curl" && !hasProgram("curl") {
				t.Skip("curl is not installed")
			}
			for range 2 { // the second time there is nothing left to do
				cmd := exec.Command(c.command[0], c.command[1:]...)
				cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			var ticket client.Ticket
			eventually(t, "the ticket is finished", func() bool {
				var err error
				ticket, err = cl.Ticket(t.Context(), c.asset, "w48")
				return err == nil && ticket.State == stateFinished
			})
			if ticket.Summary != c.summary || len(ticket.Steps) != c.steps {
				t.Errorf("the ticket is %s", asJSON(t, ticket))
			}
		})
	}
	if got := hook.got(); len(got) != 1 || got[0].key != `"risky/w48"` {
		t.Errorf("people were told %q", got)
	}
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
