// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// raw writes bytes on a connection of its own and returns the answer, or nil when the daemon hung up.
func (h *host) raw(request string) *http.Response {
	h.Helper()
	c, err := net.Dial("unix", h.socket)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, request); err != nil {
		h.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil
	}
	h.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestHeaderLimit: a header of 16 KiB is read, a byte more is refused.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{})
	const head = "GET /livez HTTP/1.1\r\nHost: picket\r\nX: "
	const tail = "\r\n\r\n"
	for size, want := range map[int]int{
		maxHeader: http.StatusOK, maxHeader + 1: http.StatusRequestHeaderFieldsTooLarge, 20 << 10: http.StatusRequestHeaderFieldsTooLarge,
	} {
		resp := h.raw(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
		if resp == nil || resp.StatusCode != want {
			t.Errorf("%d bytes: got %+v, want %d", size, resp, want)
		}
	}
}

// TestMediaTypes: what a body calls itself does not matter, and an answer is JSON whatever is accepted.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{err: engine.ErrDraining}})
	for _, media := range []string{"", "application/x-www-form-urlencoded", "text/plain", "application/xml", "multipart/form-data", "nonsense"} {
		req, err := http.NewRequest("POST", "http://picket/v1/claims", strings.NewReader(`{"asset":"a","task":"t"}`))
		must(t, err)
		req.Header.Set("Content-Type", media)
		req.Header.Set("Accept", "application/xml")
		h.refused(h.send(req), client.Draining)
	}
}

// TestChunkedBodies: without a length the limits are the same.
func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{err: engine.ErrDraining}})
	for body, want := range map[string]client.Code{
		`{"asset":"a","task":"t"}`:                                   client.Draining,
		strings.Repeat(" ", maxBody-24) + `{"asset":"a","task":"t"}`: client.Draining,
		strings.Repeat(" ", maxBody-23) + `{"asset":"a","task":"t"}`: client.BodyTooLarge,
		strings.Repeat(" ", 3<<20):                                   client.BodyTooLarge,
		"":                                                           client.BadRequest,
	} {
		req, err := http.NewRequest("POST", "http://picket/v1/claims", struct{ io.Reader }{strings.NewReader(body)})
		must(t, err)
		h.refused(h.send(req), want)
	}
}

// TestBodyCutOff: a body that does not come whole is not taken for one.
func TestBodyCutOff(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{panic: "reached"}})
	c, err := net.Dial("unix", h.socket)
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "POST /v1/claims HTTP/1.1\r\nHost: picket\r\nContent-Length: 25\r\n\r\n"+`{"asset":"a","task":"t"}`)
	must(t, err)
	must(t, c.(*net.UnixConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d", resp.StatusCode)
	}
	_ = resp.Body.Close()
}

// TestCallerLeaves: the engine hears of it, and it is counted as such.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{wait: true}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := h.client.Claim(ctx, client.ClaimRequest{Asset: "a", Task: "t", Wait: "1m"})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("got %v", err)
	}
	h.counts(`picket_http_requests_total{code="499",method="POST",route="/v1/claims"} 1`)
}

// counts waits until the metrics have a line.
func (h *host) counts(line string) {
	h.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		name, _, _ := strings.Cut(line, "{")
		err := testutil.GatherAndCompare(h.registry, strings.NewReader(h.help(name)+line+"\n"), name)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (h *host) help(name string) string {
	families, err := h.registry.Gather()
	if err != nil {
		h.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return fmt.Sprintf("# HELP %s %s\n# TYPE %s counter\n", name, f.GetHelp(), name)
		}
	}
	return ""
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{})
	h.wants(h.do("GET", "/livez", ""), http.StatusOK)
	h.refused(h.do("GET", "/v1/tickets/../x", ""), client.NotFound)
	h.refused(h.do("BREW", "/v1/tickets", ""), client.MethodNotAllowed)
	h.counts(`picket_refusals_total{code="METHOD_NOT_ALLOWED"} 1
picket_refusals_total{code="NOT_FOUND"} 1`)
	h.counts(`picket_http_requests_total{code="200",method="GET",route="/livez"} 1
picket_http_requests_total{code="404",method="GET",route="none"} 1
picket_http_requests_total{code="405",method="other",route="none"} 1`)
	problems, err := testutil.GatherAndLint(h.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestDrainEndsWatches: a long poll is answered DRAINING at once, to be made again on a new connection.
func TestDrainEndsWatches(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{wait: true}})
	answers := make(chan reply, 1)
	go func() { answers <- h.do("GET", "/v1/claims/x?wait=10m", "") }()
	time.Sleep(20 * time.Millisecond)
	h.server.Drain()
	r := <-answers
	h.refused(r, client.Draining)
	if r.header.Get("Retry-After") != "0" || !r.closes {
		t.Errorf("got %v", r.header)
	}
}

// slow is an engine whose claims take until they are let go.
type slow struct {
	Engine
	entered, letGo chan struct{}
}

func (s slow) Claim(context.Context, engine.ClaimRequest) (engine.ClaimResult, error) {
	close(s.entered)
	<-s.letGo
	return engine.ClaimResult{Ticket: store.Ticket{ID: store.ID("a", "t"), State: client.StateFinished}}, nil
}

// TestShutdown: what is on its way finishes, what never sent anything does not hold it up, and no new connection is taken.
func TestShutdown(t *testing.T) {
	t.Parallel()
	var err error
	for range 3 { // where the machine stands still, one try may take too long
		if err = shutDown(t); err == nil {
			return
		}
	}
	t.Error(err)
}

func shutDown(t *testing.T) error {
	t.Helper()
	s := slow{entered: make(chan struct{}), letGo: make(chan struct{})}
	h := serve(t, Config{Engine: s})
	idle, err := net.Dial("unix", h.socket)
	must(t, err)
	defer idle.Close()
	answers := make(chan reply, 1)
	go func() { answers <- h.do("POST", "/v1/claims", `{"asset":"a","task":"t"}`) }()
	<-s.entered
	stopped := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // net/http would wait 5 s for the idle connection
	defer cancel()
	go func() { stopped <- h.server.Shutdown(ctx) }()
	for {
		c, err := net.Dial("unix", h.socket)
		if err != nil {
			break
		}
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-stopped:
		t.Fatalf("it stopped with a call on its way: %v", err)
	default:
	}
	close(s.letGo)
	h.wants(<-answers, http.StatusOK)
	if err := <-stopped; err != nil {
		return err
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("the idle connection is open")
	}
	must(t, h.server.Shutdown(t.Context()))
	return nil
}

// TestShutdownAnswersWhoConnectedBefore: net/http alone would hang up on a call that it reads after Shutdown began.
func TestShutdownAnswersWhoConnectedBefore(t *testing.T) {
	t.Parallel()
	for {
		h := serve(t, Config{})
		conn := dial(t, h.socket)
		h.wants(h.do("GET", "/livez", ""), http.StatusOK) // connected later, so the first is accepted
		begun, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- h.server.Shutdown(t.Context()) }()
		for other, err := net.Dial("unix", h.socket); err == nil; other, err = net.Dial("unix", h.socket) {
			must(t, other.Close())
		}
		_, err := conn.Write([]byte("GET /livez HTTP/1.1\r\nHost: picket\r\n\r\n"))
		late := time.Since(begun) > unusedGrace/2 // this machine is too busy to tell
		got := make([]byte, 12)
		_, readErr := io.ReadFull(conn, got)
		must(t, conn.Close())
		must(t, <-stopped)
		if late {
			continue
		}
		if err != nil || readErr != nil || string(got) != "HTTP/1.1 200" {
			t.Errorf("got %q, %v, %v", got, err, readErr)
		}
		return
	}
}

// TestShutdownIsNotHeldUpBySlowPeers: neither by one that has sent half a request nor by one that does not read its answers. What
// is on its way takes its time all the same.
func TestShutdownIsNotHeldUpBySlowPeers(t *testing.T) {
	t.Parallel()
	s := slow{entered: make(chan struct{}), letGo: make(chan struct{})}
	h := serve(t, Config{Engine: s})
	for _, text := range []string{
		"POST /v1/claims HTTP/1.1\r\nHost: picket\r\nContent-Length: 100\r\n\r\n{",
		strings.Repeat("GET /v1/openapi.json HTTP/1.1\r\nHost: picket\r\n\r\n", 100),
	} {
		conn := dial(t, h.socket)
		defer conn.Close()
		_, err := conn.Write([]byte(text))
		must(t, err)
	}
	answers := make(chan reply, 1)
	go func() { answers <- h.do("POST", "/v1/claims", `{"asset":"a","task":"t"}`) }()
	<-s.entered
	stopped := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), bodyTime-time.Second)
	defer cancel()
	go func() { stopped <- h.server.Shutdown(ctx) }()
	time.Sleep(2 * slowGrace)
	close(s.letGo)
	h.wants(<-answers, http.StatusOK)
	must(t, <-stopped)
}

// TestShutdownIsBounded: a call that does not end is cut off.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	s := slow{entered: make(chan struct{}), letGo: make(chan struct{})}
	h := serve(t, Config{Engine: s})
	go func() {
		req, _ := http.NewRequest("POST", "http://picket/v1/claims", strings.NewReader(`{"asset":"a","task":"t"}`))
		if resp, err := h.http.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-s.entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.server.Shutdown(ctx); err == nil {
		t.Error("it says that it waited for the call")
	}
	close(s.letGo)
}

// TestStopWithoutStart: a server that never served can be shut down, twice.
func TestStopWithoutStart(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Logger: quiet()})
	must(t, err)
	must(t, s.Shutdown(t.Context()))
	must(t, s.Shutdown(t.Context()))
}

// TestActivatedSocket: a listener that was handed over is served as it is, and its socket stays.
func TestActivatedSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	defer made.Close()
	file, err := made.File()
	must(t, err)
	handed, err := net.FileListener(file)
	must(t, err)
	must(t, file.Close())
	s, err := New(Config{Logger: quiet(), Status: func() client.Status { return client.Status{Host: "scan-01"} }})
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(handed) }()
	status, err := client.New(path).Status(t.Context())
	must(t, err)
	if status.Host != "scan-01" {
		t.Errorf("got %+v", status)
	}
	must(t, s.Shutdown(t.Context()))
	must(t, <-served)
	must(t, dial(t, path).Close())
}
