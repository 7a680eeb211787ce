// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// names are assets as people call them, with the form that they get.
var names = map[string]string{
	"web-01":                  "web-01",
	"a{b}c":                   "a{b}c",
	"{":                       "{",
	"{asset}":                 "{asset}",
	"rack:7/slot:3":           "rack:7/slot:3",
	"/":                       "/",
	"//a//":                   "//a//",
	"../etc/passwd":           "../etc/passwd",
	"100%":                    "100%",
	"%2F":                     "%2F",
	"%":                       "%",
	"a b":                     "a b",
	"a+b":                     "a+b",
	"a?b#c&d=e":               "a?b#c&d=e",
	"a;b,c@d!$'()*":           "a;b,c@d!$'()*",
	`back\slash "quoted"`:     `back\slash "quoted"`,
	"<b>&amp;":                "<b>&amp;",
	"数据库-主":                   "数据库-主",
	"🦊":                       "🦊",
	"::1":                     "::1",
	"FE80:0:0:0:0:0:0:1%eth0": "fe80::1%eth0",
	"fe80::1%eth0":            "fe80::1%eth0",
	"2001:DB8::0:1":           "2001:db8::1",
	"...":                     "...",
	"history":                 "history",
	strings.Repeat("%", 256):  strings.Repeat("%", 256),
	strings.Repeat("资", 85):   strings.Repeat("资", 85),
}

// TestAssetNames claims under each name, and finds the ticket, its history and its outbox again, with the Go client and by a
// path of the caller's own making.
func TestAssetNames(t *testing.T) {
	t.Parallel()
	h := setup(t)
	task := 0
	for name, canonical := range names {
		task++
		h := *h
		t.Run(name[:min(len(name), 30)], func(t *testing.T) {
			h.T = t
			claim := h.claim(name, "t")
			h.wants(h.do("DELETE", claim, ""), http.StatusNoContent)
			for _, given := range []string{name, canonical} {
				got, err := h.client.Ticket(t.Context(), given, "t")
				must(t, err)
				if got.Asset != canonical || got.ID != canonical+"/t" {
					t.Errorf("got %q %q, want %q", got.Asset, got.ID, canonical)
				}
				_, err = h.client.History(t.Context(), given, "t")
				must(t, err)
				_, err = h.client.OutboxTicket(t.Context(), given, "t")
				wantCode(t, err, client.IntentNotFound)
				page, err := h.client.Tickets(t.Context(), client.TicketQuery{Asset: given})
				must(t, err)
				if len(page.Tickets) != 1 {
					t.Errorf("the listing has %d tickets of it", len(page.Tickets))
				}
			}
			for _, path := range []string{hexed(name), strings.ToLower(hexed(name))} {
				var got client.TicketBody
				r := h.wants(h.do("GET", "/v1/tickets/"+path+"/t", ""), http.StatusOK)
				must(t, json.Unmarshal([]byte(r.body), &got))
				if got.Ticket.Asset != canonical {
					t.Errorf("by %s got %q", path, got.Ticket.Asset)
				}
			}
		})
	}
}

// hexed percent-encodes every byte.
func hexed(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteByte('%')
		b.WriteByte("0123456789ABCDEF"[c>>4])
		b.WriteByte("0123456789ABCDEF"[c&15])
	}
	return b.String()
}

// TestPathsAsSent: characters that callers forget to encode, or encode without need, do not shift the segments.
func TestPathsAsSent(t *testing.T) {
	t.Parallel()
	r := newRouter(routes)
	for sent, want := range map[string]string{
		"/v1/tickets/a{b%2Fc/t":           "a{b/c",
		"/v1/tickets/a%7Bb%2Fc/t":         "a{b/c",
		"/v1/tickets/a%2fb/t":             "a/b",
		"/v1/tickets/fe80::1%25eth0/t":    "fe80::1%eth0",
		"/v1/tickets/%61/%74":             "a",
		"/v1/tickets/资/t":                 "资",
		"http://other/v1/tickets/a%2Fb/t": "a/b",
		"/v1/tickets/a|b^c/t":             "a|b^c",
	} {
		u, err := url.ParseRequestURI(sent)
		if err != nil {
			t.Fatal(err)
		}
		found, p, err := r.find(&http.Request{Method: "GET", URL: u}, http.Header{})
		if err != nil || found.id != "getTicket" || string(p.ticket.Asset) != want || p.ticket.Task != "t" {
			t.Errorf("%s: got %v %+v, want %s", sent, err, p, want)
		}
	}
}

// TestMethods: a path answers with what it takes, HEAD as GET, and nothing is redirected.
func TestMethods(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{})
	r := h.do("PUT", "/v1/claims", "")
	h.refused(r, client.MethodNotAllowed)
	if allow := r.header.Get("Allow"); allow != "GET, HEAD, POST" {
		t.Errorf("Allow is %q", allow)
	}
	if r = h.wants(h.do("HEAD", "/livez", ""), http.StatusOK); r.body != "" {
		t.Errorf("HEAD has a body: %q", r.body)
	}
	w := h.server.record(&http.Request{Method: "OPTIONS", RequestURI: "*", URL: &url.URL{Path: "*"}})
	if w.Code != http.StatusNotFound {
		t.Errorf("OPTIONS * answers %d", w.Code)
	}
}
