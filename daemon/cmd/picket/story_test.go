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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// buildAgent builds the example agent in Go.
func buildAgent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent-go")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "../../../examples/agent-go")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as packages are made, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
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

// startService is an asset's service. It accepts, and says nothing.
func startService(t *testing.T, addr string) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func startHosts(t *testing.T, channels string, names ...string) []*host {
	t.Helper()
	redis := redistest.Start(t)
	var hosts []*host
	for _, name := range names {
		hosts = append(hosts, startHostOn(t, redis, channels, name))
	}
	return hosts
}

func startHostOn(t *testing.T, redis *redistest.Server, channels, name string) *host {
	t.Helper()
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
	return h
}

// TestG2_TheFrozenWriterIsRefused is the story that Picket exists for: A is about to find a machine offline when it freezes,
// and its host with it. B takes over, finds the machine online with a critical vulnerability, and people are told. A wakes
// and writes OFFLINE.
func TestG2_TheFrozenWriterIsRefused(t *testing.T) {
	t.Parallel()
	program, hook := buildAgent(t), startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02")
	target := net.JoinHostPort("127.0.0.2", startService(t, "127.0.0.1:0")) // where nothing listens yet
	run := func(h *host) *exec.Cmd {
		return exec.Command(program, "-socket", h.socket, "-target", target, "-report", "../../../examples/findings/trivy.json",
			"web-01", "w48")
	}

	var said output
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
	eventually(t, "A gets no answer", func() bool { return strings.Contains(said.String(), "no answer") })
	_ = a.Process.Signal(unix.SIGSTOP)
	hosts[0].freeze()

	startService(t, target)
	b := run(hosts[1])
	if out, err := b.CombinedOutput(); err != nil {
		t.Fatalf("B could not take over: %v\n%s", err, out)
	}
	cl := client.New(hosts[1].socket)
	t.Cleanup(cl.CloseIdleConnections)
	before, err := cl.Ticket(t.Context(), "web-01", "w48")
	if err != nil || before.State != client.StateFinished || before.Steps[client.StepOnline].State != client.StateAssetOnline {
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
	if r := history.Refused; len(r) != 1 || r[0].To != client.StateAssetOffline || r[0].Host != "scan-01" || r[0].Token >= after.Token {
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
