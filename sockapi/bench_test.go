// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
)

// instant is an engine that answers at once with a ticket as a finished one looks.
type instant struct {
	Engine
	ticket store.Ticket
}

func (i instant) Ticket(context.Context, store.TicketID) (store.Ticket, error) {
	return i.ticket, nil
}

func (i instant) Step(context.Context, string, uint32, engine.StepRequest) (engine.WriteResult, error) {
	return engine.WriteResult{Ticket: i.ticket}, nil
}

func finishedTicket() store.Ticket {
	now := time.Now()
	t := store.Ticket{
		ID: store.ID("web-01", "w48"), Flow: "asset-inference", State: "FINISHED", Token: 1795982322433,
		Run: 1, Revision: 9, Steps: map[string]store.Step{}, CreatedAt: now, UpdatedAt: now,
		Notification: &store.Notification{Title: "RCE on web-01", Text: strings.Repeat("Patch it. ", 20), Severity: "critical", Channels: []string{"ops"}, At: now},
		Delivery:     map[string]store.Delivery{"ops": {Status: "sent", Attempts: 1, At: now, Host: "scan-01"}},
	}
	for _, name := range []string{"online", "vuln", "intel", "assess"} {
		t.Steps[name] = store.Step{
			State: "VULN_CHECK_DONE", Facts: json.RawMessage(`{"cve":["CVE-2026-0001","CVE-2026-0002"],"cvss":9.8,"port":443,"banner":"nginx/1.18.0"}`),
			Summary: "two findings", Token: 1795982322433, Host: "scan-01", At: now,
		}
	}
	return t
}

// BenchmarkHandlers is what a call costs between the socket and the engine. bytes is the floor: the same answer, ready.
func BenchmarkHandlers(b *testing.B) {
	s, err := New(Config{Engine: instant{ticket: finishedTicket()}, Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	ready := s.record(httptest.NewRequest("GET", "/v1/tickets/web-01/w48", nil)).Body.Bytes()
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(ready)
	})
	for _, c := range []struct {
		name, method, path, body string
		handler                  http.Handler
	}{
		{"bytes", "GET", "/v1/tickets/web-01/w48", "", bare},
		{"ticket", "GET", "/v1/tickets/web-01/w48", "", s},
		{"step", "POST", "/v1/claims/x/steps", `{"step":"vuln","state":"VULN_CHECK_DONE","facts":{"cve":["CVE-2026-0001"],"cvss":9.8},"summary":"one finding"}`, s},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			w := &discard{header: http.Header{}}
			for b.Loop() {
				req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
				if c.body == "" {
					req.Body = http.NoBody
				}
				clear(w.header)
				c.handler.ServeHTTP(w, req)
			}
		})
	}
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header             { return d.header }
func (d *discard) Write(p []byte) (int, error)     { return len(p), nil }
func (d *discard) WriteHeader(int)                 {}
func (d *discard) SetReadDeadline(time.Time) error { return nil }
