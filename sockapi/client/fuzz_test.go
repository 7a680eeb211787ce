// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answering is a transport on which every call gets the same answer.
type answering struct {
	status int
	after  string
	body   string
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: http.Header{"Retry-After": {a.after}},
		Body: io.NopCloser(strings.NewReader(a.body)), Request: req,
	}, nil
}

// FuzzAnswer: whatever is behind the socket, its answer is read, or it is an error; a refusal has a code.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", `{"ticket":{"id":"a/t","state":"FINISHED","high_risk":false,"damaged":"Redis has lost it"}}`)
	f.Add(409, "3", `{"code":"LOCK_HELD","detail":"x","holder":{"host":"h"}}`)
	f.Add(502, "-1", "<html>")
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		status = 200 + int(uint(status)%400)
		c := New("/nowhere")
		c.http = &http.Client{Transport: answering{status, after, body}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		ctx := context.Background()
		_, err := c.Ticket(ctx, "a", "t")
		var p *Problem
		if errors.As(err, &p) && (p.Code == "" || p.Status != status || p.RetryAfter < 0 || p.Error() == "") {
			t.Fatalf("it is refused as %+v", p)
		}
		if status >= 300 && p == nil {
			t.Fatalf("status %d is no refusal: %v", status, err)
		}
		_, _ = c.History(ctx, "a", "t")
		_, _ = c.Tickets(ctx, TicketQuery{})
		_, _ = c.Status(ctx)
		_, _ = c.Hosts(ctx)
	})
}
