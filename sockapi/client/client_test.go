// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// setup is a client before a stand-in for the daemon.
func setup(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var conns atomic.Int64
	server := &http.Server{Handler: h, ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conns.Add(1))
	}}
	go func() { _ = server.Serve(ln) }()
	c := New(socket)
	t.Cleanup(func() {
		c.CloseIdleConnections()
		_ = server.Close()
	})
	return c
}

// connKey is the key of a connection's number.
type connKey struct{}

// answerProblem writes a problem as the daemon does.
func answerProblem(w http.ResponseWriter, code Code, header ...string) {
	for i := 0; i < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code.Status())
	_ = json.NewEncoder(w).Encode(Problem{Code: code, Status: code.Status(), Detail: "d"})
}

// TestRequests: each method makes the request that the API wants.
func TestRequests(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.RequestURI + " " + strings.TrimSpace(string(body))
		_, _ = io.WriteString(w, "{}")
	})
	ctx := t.Context()
	for want, call := range map[string]func() error{
		`POST /v1/claims {"asset":"<a>","task":"t","heartbeat":"30s","request":"r"}`: func() error {
			_, err := c.Claim(ctx, ClaimRequest{Asset: "<a>", Task: "t", Heartbeat: "30s", Request: "r"})
			return err
		},
		"GET /v1/claims ":                        func() error { _, err := c.Claims(ctx); return err },
		"GET /v1/claims/x ":                      func() error { _, err := c.GetClaim(ctx, "x"); return err },
		"GET /v1/claims/..%2Fx ":                 func() error { _, err := c.GetClaim(ctx, "../x"); return err },
		"GET /v1/claims/x?wait=1m30s ":           func() error { _, err := c.WatchClaim(ctx, "x", 90*time.Second); return err },
		"POST /v1/claims/x/heartbeat ":           func() error { _, err := c.Heartbeat(ctx, "x"); return err },
		"DELETE /v1/claims/x ":                   func() error { return c.Release(ctx, "x") },
		"POST /v1/claims/x/finish {}":            func() error { _, err := c.Finish(ctx, "x", ""); return err },
		"GET /v1/tickets/a%2F%25b/t ":            func() error { _, err := c.Ticket(ctx, "a/%b", "t"); return err },
		"GET /v1/tickets/a/t/history ":           func() error { _, err := c.History(ctx, "a", "t"); return err },
		"GET /v1/outbox/a%20b/t ":                func() error { _, err := c.OutboxTicket(ctx, "a b", "t"); return err },
		"GET /v1/outbox?status=parked ":          func() error { _, err := c.Outbox(ctx, "parked"); return err },
		`POST /v1/hosts/A/retire {"reason":"r"}`: func() error { _, err := c.Retire(ctx, "A", "r"); return err },
		"GET /v1/hosts ":                         func() error { _, err := c.Hosts(ctx); return err },
		"GET /v1/status ":                        func() error { _, err := c.Status(ctx); return err },
		"GET /v1/tickets?asset=a%26b&limit=5 ": func() error {
			_, err := c.Tickets(ctx, TicketQuery{Asset: "a&b", Limit: 5})
			return err
		},
		`PUT /v1/tasks/t/lists/0f {"total":7}`: func() error { _, err := c.NoteList(ctx, "t", "0f", 7); return err },
		`PUT /v1/tasks/t/reports/n {"list":"0f","total":7,"run":"r","works":true}`: func() error {
			_, err := c.NoteReport(ctx, "t", "n", ReportRequest{List: "0f", Total: 7, Run: "r", Works: true})
			return err
		},
		`PUT /v1/lists/0f/parts/2 {"assets":["a"]}`: func() error { return c.PutPart(ctx, "0f", 2, []string{"a"}) },
		`GET /v1/lists/0f/parts/2 `:                 func() error { _, err := c.Part(ctx, "0f", 2); return err },
		`POST /v1/tasks/t/chunks {"assets":["a"]}`:  func() error { _, err := c.Chunk(ctx, "t", []string{"a"}); return err },
		`POST /v1/tickets/states {"ids":["a/t"]}`:   func() error { _, err := c.States(ctx, []string{"a/t"}); return err },
		"GET /v1/tickets?failed=true&held=true&high_risk=true&host=h&since=2026-11-29T08%3A00%3A00Z&stuck=true&task=t ": func() error {
			_, err := c.Tickets(ctx, TicketQuery{
				Task: "t", Host: "h", Since: time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC), Failed: true, Held: true, HighRisk: true, Stuck: true,
			})
			return err
		},
		"GET /v1/tasks?cursor=c&limit=5 ": func() error { _, err := c.Tasks(ctx, 5, "c"); return err },
		"GET /v1/tasks/t ":                func() error { _, err := c.Task(ctx, "t"); return err },
		`POST /v1/claims/x/steps {"step":"online","state":"ASSET_ONLINE","facts":{"n":12345678901234567,"f":1.0}}`: func() error {
			_, err := c.Step(ctx, "x", StepRequest{Step: StepOnline, State: StateAssetOnline, Facts: json.RawMessage(`{"n":12345678901234567,"f":1.0}`)})
			return err
		},
		`POST /v1/claims/x/failures {"step":"vuln","error":"e","final":true}`: func() error {
			_, err := c.Fail(ctx, "x", FailureRequest{Step: StepVuln, Error: "e", Final: true})
			return err
		},
		`POST /v1/claims/x/notification?wait=10s {"title":"t","text":"x","severity":"low"}`: func() error {
			_, err := c.Notify(ctx, "x", NotificationRequest{Title: "t", Text: "x", Severity: SeverityLow}, 10*time.Second)
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if request := <-got; request != want {
			t.Errorf("got  %s\nwant %s", request, want)
		}
	}
}

// TestProblem: an error answer is a *Problem with all that it carries, and one that is none becomes one.
func TestProblem(t *testing.T) {
	t.Parallel()
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/claims":
			answerProblem(w, LockHeld, "Retry-After", "7")
		case "/v1/status":
			http.Error(w, "gone fishing", http.StatusBadGateway)
		default:
			http.Redirect(w, r, "/v1/claims", http.StatusMovedPermanently)
		}
	})
	var p *Problem
	if _, err := c.Claims(t.Context()); !errors.As(err, &p) || p.Code != LockHeld || p.Status != http.StatusLocked || p.RetryAfter != 7*time.Second {
		t.Errorf("got %+v", p)
	}
	if _, err := c.Status(t.Context()); !errors.As(err, &p) || p.Code != Internal || p.Status != http.StatusBadGateway {
		t.Errorf("got %+v", p)
	}
	if _, err := c.GetClaim(t.Context(), "x"); !errors.As(err, &p) || p.Status != http.StatusMovedPermanently {
		t.Errorf("a redirect was followed: %v", err)
	}
}

// TestDrainingIsFollowed: the call is made again, on a new connection, and what a claim has waited is taken off.
func TestDrainingIsFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		var body ClaimRequest
		_ = json.NewDecoder(r.Body).Decode(&body)
		if calls.Add(1) == 1 {
			time.Sleep(10 * time.Millisecond)
			answerProblem(w, Draining, "Retry-After", "0")
			return
		}
		if r.Context().Value(connKey{}) != int64(2) {
			t.Error("the second call came on the first connection")
		}
		wait, err := time.ParseDuration(body.Wait)
		if err != nil || wait <= 0 || wait > time.Minute-10*time.Millisecond {
			t.Errorf("the second call waits %q", body.Wait)
		}
		_, _ = io.WriteString(w, `{"claim":{"id":"x"}}`)
	})
	got, err := c.Claim(t.Context(), ClaimRequest{Asset: "a", Task: "t", Wait: "1m"})
	if err != nil || got.Claim == nil || got.Claim.ID != "x" || calls.Load() != 2 {
		t.Errorf("got %+v, %v after %d calls", got, err, calls.Load())
	}
}

// named are the names of the requests that came: a handler whose answer is lost ends in no order with the call.
type named struct {
	mu    sync.Mutex
	names []string
}

func (n *named) add(name string) (all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = append(n.names, name)
	return len(n.names)
}

func (n *named) take() (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	names, n.names = n.names, nil
	return names
}

// TestAClaimWhoseAnswerIsLostIsSentAgain: under the same name, and each call under one of its own; other calls are left to their caller.
func TestAClaimWhoseAnswerIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	var called named
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		var body ClaimRequest
		_ = json.NewDecoder(r.Body).Decode(&body)
		if called.add(body.Request) < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"claim":{"id":"x"}}`)
	})
	for range 2 {
		if got, err := c.Claim(t.Context(), ClaimRequest{Asset: "a", Task: "t"}); err != nil || got.Claim == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if names := called.take(); len(names) != 4 || names[0] == "" || names[1] != names[0] || names[2] != names[0] || names[3] == names[0] {
		t.Errorf("the requests are called %q", names)
	}
	if _, err := c.Step(t.Context(), "x", StepRequest{Step: "online", State: "ASSET_ONLINE"}); err == nil {
		t.Error("a step without an answer succeeded")
	}
}

// TestAnOlderDaemonIsAskedWithoutAName: one that knows no names. A name that no daemon takes is not left out, and without a name a lost
// answer is the caller's to deal with.
func TestAnOlderDaemonIsAskedWithoutAName(t *testing.T) {
	t.Parallel()
	var called named
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		var body ClaimRequest
		_ = json.NewDecoder(r.Body).Decode(&body)
		called.add(body.Request)
		switch {
		case body.Request != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(Problem{Code: Invalid, Errors: []FieldError{{"body.request", "is not a field; known: asset, task"}}})
		case body.Task == "lost":
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, `{"claim":{"id":"x"}}`)
		}
	})
	for _, request := range []string{"", "mine"} {
		got, err := c.Claim(t.Context(), ClaimRequest{Asset: "a", Task: "t", Request: request})
		if names := called.take(); err != nil || got.Claim == nil || len(names) != 2 || names[0] == "" || names[1] != "" {
			t.Errorf("%q: got %+v, %v by requests called %q", request, got, err, names)
		}
	}
	_, err := c.Claim(t.Context(), ClaimRequest{Asset: "a", Task: "t", Request: strings.Repeat("n", 65)})
	if names := called.take(); !Refuses(err, "body.request") || len(names) != 1 {
		t.Errorf("a name that is too long: %v by requests called %q", err, names)
	}
	c.CloseIdleConnections()
	_, err = c.Claim(t.Context(), ClaimRequest{Asset: "a", Task: "lost"})
	if names := called.take(); !errors.Is(err, errLost) || len(names) > 3 { // net/http repeats it on a new connection
		t.Errorf("a claim without an answer: %v by requests called %q", err, names)
	}
}

// TestDrainingHasAnEnd: a context that ends, ends the following, and a Retry-After beyond all patience is not followed.
func TestDrainingHasAnEnd(t *testing.T) {
	t.Parallel()
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		after := "0"
		if r.URL.Path == "/v1/status" {
			after = "3600"
		}
		answerProblem(w, Draining, "Retry-After", after)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Claims(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	var p *Problem
	if _, err := c.Status(t.Context()); !errors.As(err, &p) || p.Code != Draining {
		t.Errorf("got %v", err)
	}
}

// TestUnreachable: a daemon that is not there is told from one that answers, with the cause.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := New(filepath.Join(dir, "s")).Status(t.Context())
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "http:") {
		t.Errorf("got %v", err)
	}
	stale := filepath.Join(dir, "stale")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		defer syscall.Close(fd)
		err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: stale}) // and nobody listens
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err = New(stale).Status(t.Context()); !errors.Is(err, ErrUnreachable) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = New(stale).Status(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("a call that was cancelled: %v", err)
	}
}

// TestAnswers: what is too large, or no JSON, is an error; what this version does not know is ignored.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/status":
			_, _ = io.WriteString(w, `{"version":"9","mood":"fine"}`)
		case "/v1/claims":
			_, _ = io.WriteString(w, `{"claims":`)
		default:
			for range maxAnswer>>20 + 1 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}
	})
	if s, err := c.Status(t.Context()); err != nil || s.Version != "9" {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := c.Claims(t.Context()); err == nil {
		t.Error("half an answer was taken")
	}
	if _, err := c.Outbox(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

// TestKeptConnectionEnds: a daemon that stops may close a connection just when the next call goes out on it. The call is made
// on another.
func TestKeptConnectionEnds(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	for range 2 {
		if _, err := c.Step(t.Context(), "x", StepRequest{Step: StepOnline, State: StateAssetOnline}); err != nil {
			t.Error(err)
		}
	}
	if calls.Load() != 3 {
		t.Errorf("there were %d calls, want 3", calls.Load())
	}
}

// TestLeaf: the package needs the standard library alone, and plain, which does too.
func TestLeaf(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/picketd/picket/"
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{module + "agent/plain", module + "sockapi/client"}) {
		t.Errorf("it imports %v", got)
	}
}

// TestFullQueueIsWaitedFor: a call waits for its place when the socket's queue is full, as others' connections can make it.
func TestFullQueueIsWaitedFor(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), socket)
	defer file.Close()
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := net.Dial("unix", socket)
		if errors.Is(err, syscall.EAGAIN) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	done := make(chan error, 1)
	go func() {
		_, err := New(socket).Claims(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the call has not waited: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	ln, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	if err := <-done; err != nil {
		t.Errorf("the call failed: %v", err)
	}
}
