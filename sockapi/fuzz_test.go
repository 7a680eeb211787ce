// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// FuzzCall: whatever is called, however, it is answered: what is refused, with a code that the call may have and a sentence, and never
// with a value that was sent. Each V in it becomes a value that no name of a field can be.
func FuzzCall(f *testing.F) {
	for _, one := range routes {
		f.Add(one.method, strings.NewReplacer("{id}", "V", "{asset}", "V", "{task}", "w48").Replace(one.path), "wait=V&limit=1", `{"asset":"V","task":"w48","heartbeat":"1m"}`)
	}
	f.Add("POST", "/v1/claims/X/steps", "", `{"step":"vuln","state":"V","facts":{"a":{"V":1}},"summary":"\u0000"}`)
	f.Add("POST", "/v1/claims/X/notification", "wait=1s", `{"title":"V","text":"x","severity":"V","channels":["V"]}`)
	f.Add("GET", "/v1/tickets/%2e%2e/w%2F48", "high_risk&cursor=V&V=1", "")
	s, err := New(Config{
		Engine: reached{}, Outbox: refusedIntents{}, Logger: quiet(), Metrics: http.NotFoundHandler(),
		Status: func() client.Status { return client.Status{} }, Ready: func(context.Context) []client.Check { return nil },
		TestChannel: func(context.Context, string, string) (client.ChannelTest, error) {
			return client.ChannelTest{}, engine.ErrDraining
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	const value = "hunt er2"
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		u, err := url.ParseRequestURI("/" + strings.TrimPrefix(strings.ReplaceAll(path, "V", "hunt%20er2"), "/"))
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n") {
			return
		}
		u.RawQuery = strings.ReplaceAll(query, "V", "hunt%20er2")
		sent := strings.ReplaceAll(body, "V", value)
		req := &http.Request{
			Method: method, URL: u, Host: "picket", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(sent)), ContentLength: int64(len(sent)),
		}
		if sent == "" {
			req.Body = http.NoBody
		}
		w := s.record(req.WithContext(context.WithValue(t.Context(), peerKey{}, engine.Peer{UID: 0})))
		if w.Header().Get("Content-Type") != "application/problem+json" {
			if w.Code >= 400 && w.Code != http.StatusNotFound && w.Code != http.StatusServiceUnavailable {
				t.Fatalf("%s %s: %d is no problem: %s", method, u, w.Code, w.Body)
			}
			return
		}
		var p client.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil && method != http.MethodHead {
			t.Fatalf("%s %s: %v in %s", method, u, err, w.Body)
		}
		if method != http.MethodHead && (p.Code == client.Internal || p.Code.Status() != w.Code || p.Title == "" || p.Detail == "") {
			t.Fatalf("%s %s %s: %d %+v", method, u, sent, w.Code, p)
		}
		if strings.Contains(w.Body.String(), value) {
			t.Fatalf("%s %s %s: the answer repeats a value: %s", method, u, sent, w.Body)
		}
		if found, _, err := s.router.find(req, http.Header{}); err == nil && method != http.MethodHead && !slices.Contains(found.codes(), p.Code) && p.Code != client.Draining {
			t.Fatalf("%s %s: %s is not among its codes", method, u, p.Code)
		}
	})
}
