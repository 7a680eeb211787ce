// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// host is a server on a socket of its own.
type host struct {
	*testing.T
	server   *Server
	socket   string
	http     *http.Client
	client   *client.Client
	registry *prometheus.Registry
	redis    redis.UniversalClient // nil without an engine
	router   router
	document *huma.OpenAPI
	audit    *auditLog
	anyCode  bool // the engine is one that answers what the call's own never would
}

// setup starts a server before a real engine, outbox and Redis: a standalone one, or the kind that redistest.Switch names.
func setup(t *testing.T) *host {
	t.Helper()
	kind := "standalone"
	if one := os.Getenv(redistest.Switch); slices.Contains(redistest.Kinds, one) {
		kind = one
	}
	return setupOn(t, kind)
}

func setupOn(t *testing.T, kind string) *host {
	t.Helper()
	options := redistest.StartKind(t, kind)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = 10*time.Second, 10*time.Second, 10*time.Second
	rdb := redis.NewUniversalClient(options)
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	audit := &auditLog{}
	e, err := engine.New(engine.Config{
		Audit: audit.add,
		Redis: rdb, Outbox: box, Host: "scan-01", TTL: 30 * time.Second, MaxHold: time.Hour, MaxHoldLimit: 24 * time.Hour,
		Channels: []delivery.Channel{{Name: "ops", Type: "log"}},
		Render:   func(string, delivery.Message) ([]byte, error) { return []byte("{}"), nil },
		Logger:   quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Error(err)
		}
		_ = box.Close()
		_ = rdb.Close()
	})
	h := serve(t, Config{Engine: e, Outbox: box, Audit: audit.add})
	h.redis, h.audit = rdb, audit
	return h
}

// serve starts a server on a socket, and stops it with the test.
func serve(t *testing.T, c Config) *host {
	t.Helper()
	h := &host{
		T: t, registry: prometheus.NewRegistry(), router: newRouter(routes), document: describe(routes, "test"),
		socket: filepath.Join(t.TempDir(), "s"),
	}
	c.Registry, c.Version = h.registry, "test"
	if c.Logger == nil {
		c.Logger = quiet()
	}
	if c.Status == nil {
		c.Status = func() client.Status {
			return client.Status{
				Version: "test", Checks: []client.Check{}, Warnings: []client.Warning{}, Channels: []client.ChannelInfo{}, Fleet: []client.Member{},
				Redis: client.RedisStatus{Mode: "standalone", Versions: []string{}, Servers: []client.RedisServer{}, Sentinels: []client.RedisSentinel{}},
			}
		}
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) []client.Check { return []client.Check{{Name: "redis", OK: true}} }
	}
	if c.Metrics == nil {
		c.Metrics = http.NotFoundHandler()
	}
	var err error
	if h.server, err = New(c); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(Socket{Path: h.socket, Mode: 0o600}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(ln) }()
	h.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.socket)
		},
	}}
	h.client = client.New(h.socket)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return h
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// reply is an answer as it came over the wire.
type reply struct {
	status int
	header http.Header
	body   string
	closes bool // the connection
}

// do makes a request as it is given, and checks the answer against the OpenAPI document.
func (h *host) do(method, path, body string) reply {
	h.Helper()
	req, err := http.NewRequest(method, "http://picket"+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	return h.send(req)
}

func (h *host) send(req *http.Request) reply {
	h.Helper()
	resp, err := h.http.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	r := reply{resp.StatusCode, resp.Header, string(body), resp.Close}
	h.conforms(req, r)
	return r
}

// conforms checks an answer against the OpenAPI document: its status, its media type, its fields.
func (h *host) conforms(req *http.Request, r reply) {
	h.Helper()
	schema := &huma.Schema{Ref: "#/components/schemas/Problem"}
	media, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	found, _, err := h.router.find(req, http.Header{})
	switch {
	case err == nil && media == "application/problem+json":
		if !h.anyCode {
			h.listed(found, r)
		}
	case err == nil:
		item := h.document.Paths[found.path]
		op := map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "DELETE": item.Delete}[found.method]
		answer := op.Responses[strconv.Itoa(r.status)]
		if answer == nil {
			h.Errorf("%s %s answered %d, which is not in the document", req.Method, req.URL.Path, r.status)
			return
		}
		if media == "" && len(answer.Content) == 0 {
			return
		}
		content := answer.Content[media]
		if content == nil {
			h.Errorf("%s %s answered %q, which is not in the document", req.Method, req.URL.Path, media)
			return
		}
		schema = content.Schema
	}
	if !strings.HasSuffix(media, "json") {
		return
	}
	var v any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		h.Errorf("%s %s: %v in %s", req.Method, req.URL.Path, err, r.body)
		return
	}
	var result huma.ValidateResult
	huma.Validate(h.document.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &result)
	for _, err := range result.Errors {
		h.Errorf("%s %s: the document says otherwise: %v in %s", req.Method, req.URL.Path, err, r.body)
	}
}

// listed checks that a problem's code is among those that the table has for its call.
func (h *host) listed(route *route, r reply) {
	h.Helper()
	var p client.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || !slices.Contains(route.codes(), p.Code) {
		h.Errorf("%s answered %d %s, which the table of routes does not list: %s", route.id, r.status, p.Code, r.body)
	}
}

// wants checks an answer's status.
func (h *host) wants(r reply, status int) reply {
	h.Helper()
	if r.status != status {
		h.Fatalf("got %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// refused checks that an answer is a problem with a code, and returns it.
func (h *host) refused(r reply, code client.Code) client.Problem {
	h.Helper()
	var p client.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		h.Fatalf("got %d %q, want %s", r.status, r.body, code)
	}
	switch {
	case p.Code != code:
		h.Errorf("got %s, want %s: %s", p.Code, code, r.body)
	case r.status != code.Status() || p.Status != r.status:
		h.Errorf("got status %d and %d, want %d: %s", r.status, p.Status, code.Status(), r.body)
	case r.header.Get("Content-Type") != "application/problem+json":
		h.Errorf("got %s, want application/problem+json", r.header.Get("Content-Type"))
	case p.Title == "" || p.Detail == "":
		h.Errorf("got no sentence: %s", r.body)
	}
	return p
}

// claim claims over the wire, with a heartbeat, and returns the claim's path.
func (h *host) claim(asset, task string) string {
	h.Helper()
	body, _ := json.Marshal(map[string]string{"asset": asset, "task": task, "heartbeat": "10m"})
	r := h.wants(h.do("POST", "/v1/claims", string(body)), http.StatusCreated)
	var a client.ClaimResponse
	if err := json.Unmarshal([]byte(r.body), &a); err != nil {
		h.Fatal(err)
	}
	return "/v1/claims/" + a.Claim.ID
}

// record runs a request without a socket.
func (s *Server) record(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(deadlines{w}, req)
	return w
}

// deadlines gives a recorder the deadlines that connections have.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetReadDeadline(time.Time) error { return nil }
