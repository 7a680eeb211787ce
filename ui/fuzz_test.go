// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// FuzzPages: whatever a browser sends, no page is shown without the cookie, nothing is decided without the token, nobody's text becomes
// markup, and nothing panics.
func FuzzPages(f *testing.F) {
	dir, err := os.MkdirTemp("", "ui-") // short, because a socket's path must be
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		f.Fatal(err)
	}
	ticket := client.Ticket{ID: "a/t", Asset: "<script>", Task: "t", State: client.StateFinished, Damaged: "<script>", Summary: "<script>"}
	daemon := &http.Server{Handler: &fake{answers: map[string]any{
		"/v1/status":      client.Status{Host: "<script>", ID: "A", Version: "1.0", Ready: true, Admin: true},
		"/v1/tickets":     client.TicketList{Tickets: []client.Ticket{ticket}},
		"/v1/tickets/a/t": client.TicketBody{Ticket: ticket},
	}}}
	go func() { _ = daemon.Serve(listener) }()
	f.Cleanup(func() { _ = daemon.Close() })
	s := New(Config{Client: client.New(listener.Addr().String(), client.WithPatience(time.Minute))})
	pages := s.guarded(s.book.handler())
	for _, seed := range []string{"/", "/tickets", "/ticket", "/act", "/report", "/claims", "/style.css"} {
		f.Add(seed, "asset=a&task=t&cursor=x&do=retry", "picket=x", "token=x&reason=<script>")
	}
	f.Add("/?secret=x", "secret=x", "", "")
	f.Fuzz(func(t *testing.T, path, query, cookie, form string) {
		u, err := url.ParseRequestURI("/" + strings.TrimPrefix(path, "/"))
		if err != nil {
			return
		}
		u.RawQuery = query
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, knows := range []bool{false, true} {
				req := &http.Request{
					Method: method, URL: u, Host: "127.0.0.1", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
					Header: http.Header{"Cookie": {cookie}, "Content-Type": {"application/x-www-form-urlencoded"}},
				}
				if method == http.MethodPost {
					req.Body = httptest.NewRequest(method, "/", strings.NewReader(form)).Body
				}
				if knows {
					req.AddCookie(&http.Cookie{Name: s.cookie, Value: s.session})
				}
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, req.WithContext(t.Context()))
				switch {
				case !knows && w.Code != http.StatusForbidden && w.Code != http.StatusNotFound:
					t.Fatalf("%s %s without the cookie: %d", method, u, w.Code)
				case method == http.MethodPost && w.Code < 400:
					t.Fatalf("%s %s without the token: %d", method, u, w.Code)
				case strings.Contains(w.Body.String(), "<script>"):
					t.Fatalf("%s %s: the page has others' markup: %s", method, u, w.Body)
				}
			}
		}
	})
}
