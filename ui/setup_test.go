// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// fake is a daemon that answers each path with what is set for it, and notes what was posted.
type fake struct {
	mu      sync.Mutex
	answers map[string]any // by path, or by METHOD path; a *client.Problem is refused
	posted  []string
	socket  string
	server  *http.Server
}

func (f *fake) set(path string, answer any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[path] = answer
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		f.posted = append(f.posted, r.URL.EscapedPath()+" "+string(body))
	}
	answer, ok := f.answers[r.URL.Path]
	if !ok {
		answer = &client.Problem{Code: client.TicketNotFound, Detail: "there is no such ticket"}
	}
	w.Header().Set("Content-Type", "application/json")
	if p, is := answer.(*client.Problem); is {
		w.WriteHeader(p.Code.Status())
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// look is a server for the pages with a browser that was let in.
type look struct {
	*testing.T
	fake    *fake
	server  *Server
	root    string // http://127.0.0.1:PORT
	browser *http.Client
}

// setup starts a fake daemon with an empty fleet, and the pages over it.
func setup(t *testing.T, readOnly bool) *look {
	t.Helper()
	dir, err := os.MkdirTemp("", "ui-") // short, because a socket's path must be
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fake{socket: filepath.Join(dir, "s"), answers: map[string]any{
		"/v1/status":  client.Status{Host: "scan-01", ID: "A", Version: "1.0", Ready: true, Admin: true},
		"/v1/hosts":   client.HostList{Hosts: []client.Host{}},
		"/v1/tasks":   client.TaskList{},
		"/v1/tickets": client.TicketList{},
		"/v1/claims":  client.ClaimList{},
		"/v1/outbox":  client.IntentList{},
	}}
	f.start(t)
	l := &look{T: t, fake: f, server: New(Config{Client: client.New(f.socket, client.WithPatience(20*time.Second)), ReadOnly: readOnly})}
	l.serve()
	jar, _ := cookiejar.New(nil)
	l.browser = &http.Client{Jar: jar}
	t.Cleanup(l.browser.CloseIdleConnections)
	resp, err := l.browser.Get(l.root + "/?secret=" + l.server.secret)
	must(t, err)
	resp.Body.Close()
	return l
}

func (f *fake) start(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("unix", f.socket)
	must(t, err)
	f.server = &http.Server{Handler: f}
	go func() { _ = f.server.Serve(ln) }()
	t.Cleanup(func() { _ = f.server.Close() })
}

func (l *look) serve() {
	l.Helper()
	ln, err := Listen("127.0.0.1:0")
	must(l.T, err)
	l.root = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.server.Serve(ctx, ln) }()
	l.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			l.Error(err)
		}
	})
}

// get is a page as the browser gets it.
func (l *look) get(path string) (int, string) {
	l.Helper()
	resp, err := l.browser.Get(l.root + path)
	must(l.T, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(l.T, err)
	return resp.StatusCode, string(body)
}

// post sends a form with the right token, and does not follow where it leads.
func (l *look) post(path string, form url.Values) (*http.Response, string) {
	l.Helper()
	form.Set(tokenName, l.server.token)
	once := *l.browser
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := once.PostForm(l.root+path, form)
	must(l.T, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(l.T, err)
	return resp, string(body)
}

// shows checks that a page is there, and holds each text.
func (l *look) shows(path string, texts ...string) string {
	l.Helper()
	status, body := l.get(path)
	if status != http.StatusOK {
		l.Errorf("%s: status %d", path, status)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			l.Errorf("%s does not show %q:\n%s", path, text, body)
		}
	}
	return body
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
