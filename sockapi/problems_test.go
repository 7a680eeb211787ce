// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// failing is an engine whose every call comes to the same end.
type failing struct {
	Engine
	err   error
	panic any
	wait  bool // until the caller leaves
}

func (f failing) end(ctx context.Context) error {
	if f.panic != nil {
		panic(f.panic)
	}
	if f.wait {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f failing) Claim(ctx context.Context, _ engine.ClaimRequest) (engine.ClaimResult, error) {
	return engine.ClaimResult{}, f.end(ctx)
}

func (f failing) WatchClaim(ctx context.Context, _ string, _ uint32, _ time.Duration) (engine.Claim, error) {
	return engine.Claim{}, f.end(ctx)
}

func (f failing) Tickets(ctx context.Context, _ store.TicketQuery) (store.TicketPage, error) {
	return store.TicketPage{}, f.end(ctx)
}

// TestProblems: each error of the engine has its code, its status and its members, however it is wrapped, and what the engine
// said of its own is not on the wire.
func TestProblems(t *testing.T) {
	t.Parallel()
	holder := store.Holder{Host: "scan-02", PID: 7, UID: 1000, Task: "w48", Remaining: 2100 * time.Millisecond}
	for name, c := range map[string]struct {
		err  error
		want client.Problem
		wait string // Retry-After
	}{
		"held": {err: &engine.HeldError{Asset: secret, Holder: holder}, want: client.Problem{Code: client.LockHeld}, wait: "3"},
		"held, nearly free": {
			err:  &engine.HeldError{Asset: secret, Holder: store.Holder{Host: "x", Remaining: time.Millisecond}},
			want: client.Problem{Code: client.LockHeld}, wait: "1",
		},
		"held by nobody": {err: &engine.HeldError{Asset: secret}, want: client.Problem{Code: client.LockHeld}, wait: "1"},
		"invalid": {
			err:  &engine.InvalidError{Field: "pid", Message: "must exist"},
			want: client.Problem{Code: client.Invalid, Errors: []client.FieldError{{Location: "body.pid", Message: "must exist"}}},
		},
		"lost":    {err: &engine.LostError{Reason: engine.ReasonSilent}, want: client.Problem{Code: client.ClaimLost, Reason: client.ReasonSilent}},
		"exited":  {err: &engine.LostError{Reason: engine.ReasonProcessExit, PID: 7}, want: client.Problem{Code: client.ClaimLost, Reason: client.ReasonProcessExit, PID: 7}},
		"illegal": {err: &store.TransitionError{State: client.StateInit}, want: client.Problem{Code: client.IllegalTransition, State: client.StateInit}},

		"draining":     {err: engine.ErrDraining, want: client.Problem{Code: client.Draining}, wait: "0"},
		"unknown flow": {err: store.ErrUnknownFlow, want: client.Problem{Code: client.UnknownFlow}},
		"mismatch":     {err: engine.ErrFlowMismatch, want: client.Problem{Code: client.FlowMismatch}},
		"forbidden":    {err: engine.ErrForbidden, want: client.Problem{Code: client.Forbidden}},
		"too many":     {err: engine.ErrTooManyClaims, want: client.Problem{Code: client.TooManyClaims}},
		"no claim":     {err: engine.ErrClaimNotFound, want: client.Problem{Code: client.ClaimNotFound}},
		"stale":        {err: engine.ErrStaleToken, want: client.Problem{Code: client.StaleToken}},
		"away":         {err: store.ErrUnavailable, want: client.Problem{Code: client.StoreUnavailable}},
		"replicas":     {err: fmt.Errorf("%w: 0 of 1", store.ErrReplicasMissing), want: client.Problem{Code: client.ReplicasMissing}},
		"outbox":       {err: outbox.ErrUnavailable, want: client.Problem{Code: client.OutboxUnavailable}},
		"unexpected":   {err: fs.ErrClosed, want: client.Problem{Code: client.Internal}},
		"time-out":     {err: context.DeadlineExceeded, want: client.Problem{Code: client.Internal}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, Config{Engine: failing{err: fmt.Errorf("%s: %w", secret, c.err)}})
			h.anyCode = true
			r := h.do("POST", "/v1/claims", `{"asset":"a","task":"t"}`)
			p := h.refused(r, c.want.Code)
			if p.Reason != c.want.Reason || p.PID != c.want.PID || p.State != c.want.State || !slices.Equal(p.Errors, c.want.Errors) {
				t.Errorf("got %s", r.body)
			}
			if strings.Contains(r.body, secret) {
				t.Errorf("the engine's own words are on the wire: %s", r.body)
			}
			if got := r.header.Get("Retry-After"); got != c.wait {
				t.Errorf("Retry-After is %q, want %q", got, c.wait)
			}
		})
	}
}

// TestProblemsAreComplete: no sentinel of the engine is INTERNAL, and no code lacks a status.
func TestProblemsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[client.Code]bool{}
	for _, s := range situations {
		if seen[s.code] {
			t.Errorf("%s stands for two situations", s.code)
		}
		seen[s.code] = true
		if p := problemOf(fmt.Errorf("x: %w", s.err), "body"); p.Code != s.code || p.Status == http.StatusInternalServerError {
			t.Errorf("%v is %s %d", s.err, p.Code, p.Status)
		}
	}
	for _, err := range []error{
		store.ErrInvalidAsset, store.ErrInvalidTask, store.ErrUnknownFlow, store.ErrUnknownStep, delivery.ErrUnknownChannel,
		engine.ErrForbidden, engine.ErrClaimNotFound, store.ErrTicketNotFound, engine.ErrStaleToken, engine.ErrStepConflict,
		engine.ErrContentConflict, engine.ErrFlowMismatch, engine.ErrTooManyClaims, store.ErrUnavailable,
		outbox.ErrUnavailable, engine.ErrDraining,
	} {
		if problemOf(err, "body").Code == client.Internal {
			t.Errorf("%v is INTERNAL", err)
		}
	}
}

// TestReasonsOnTheWire: what is full, or not there, is named with what would be right.
func TestReasonsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code client.Code
		says string
	}{
		{fmt.Errorf("%w: %w", outbox.ErrUnavailable, &outbox.FullError{MaxSize: 3 << 20}), client.OutboxUnavailable, "has reached outbox.max_size_mib (3 MiB): raise it"},
		{&delivery.ChannelError{Why: "none of the ticket's channels is dead"}, client.UnknownChannel, "none of the ticket's channels is dead"},
	} {
		if p := problemOf(fmt.Errorf("x: %w", c.err), "body"); p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%v is %+v", c.err, p)
		}
	}
}

// TestInvalidInQuery: a field that the engine refuses is located where it stood.
func TestInvalidInQuery(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{err: &engine.InvalidError{Field: "cursor", Message: "is not one"}}})
	p := h.refused(h.do("GET", "/v1/tickets?cursor=x", ""), client.Invalid)
	if len(p.Errors) != 1 || p.Errors[0].Location != "query.cursor" {
		t.Errorf("got %+v", p.Errors)
	}
}

// TestPanic: a handler's panic is the answer INTERNAL to its caller, and nobody else's concern.
func TestPanic(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{panic: secret}})
	for range 2 {
		r := h.do("POST", "/v1/claims", `{"asset":"a","task":"t"}`)
		if h.refused(r, client.Internal); strings.Contains(r.body, secret) {
			t.Errorf("got %s", r.body)
		}
	}
	h.wants(h.do("GET", "/livez", ""), http.StatusOK)
}

// brokenOutbox cannot be read.
type brokenOutbox struct{}

func (brokenOutbox) Find([]outbox.Origin, outbox.Status, int) ([]outbox.Intent, bool, error) {
	return nil, false, errors.New(secret)
}

func (brokenOutbox) Ticket(string) ([]outbox.Intent, error) { return nil, errors.New(secret) }

func (brokenOutbox) Get(outbox.Ref) (outbox.Intent, error) {
	return outbox.Intent{}, errors.New(secret)
}

func TestOutboxUnavailable(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Outbox: brokenOutbox{}})
	for _, path := range []string{"/v1/outbox", "/v1/outbox/a/t", "/v1/outbox?status=dead"} {
		if r := h.do("GET", path, ""); strings.Contains(r.body, secret) {
			t.Errorf("got %s", r.body)
		} else {
			h.refused(r, client.OutboxUnavailable)
		}
	}
}

// TestReady: readiness is 200 or 503, a line of text, or with verbose each check.
func TestReady(t *testing.T) {
	t.Parallel()
	ready := true
	h := serve(t, Config{Ready: func(context.Context) []client.Check {
		c := client.Check{Name: "redis", OK: ready}
		if !ready {
			c.Error = "connection refused"
		}
		return []client.Check{{Name: "outbox", OK: true}, c}
	}, Warnings: func() []client.Warning { return []client.Warning{{Name: "clock_step", Alarm: true, Message: "m"}} }})
	if r := h.wants(h.do("GET", "/readyz", ""), http.StatusOK); r.body != "ok\n" {
		t.Errorf("got %q", r.body)
	}
	ready = false
	if r := h.wants(h.do("GET", "/readyz", ""), http.StatusServiceUnavailable); r.body != "not ready: redis: connection refused\n" {
		t.Errorf("got %q", r.body)
	}
	for _, query := range []string{"?verbose", "?verbose=true"} {
		r := h.wants(h.do("GET", "/readyz"+query, ""), http.StatusServiceUnavailable)
		var got client.Readiness
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Ready || len(got.Checks) != 2 || got.Checks[1].Error == "" || len(got.Warnings) != 1 {
			t.Errorf("got %s", r.body)
		}
	}
	h.wants(h.do("GET", "/livez", ""), http.StatusOK)
	h.wants(h.do("GET", "/v1/status", ""), http.StatusOK)
}

// TestAnAnswerDoesNotGrowWithTheRequest: of many mistakes some are listed and all are counted.
func TestAnAnswerDoesNotGrowWithTheRequest(t *testing.T) {
	t.Parallel()
	var wrong violations
	for range 60_000 {
		wrong.add("body", "is not a field")
	}
	p := wrong.problem()
	if len(p.Errors) != mostViolations || !strings.Contains(p.Detail, "59999 more") {
		t.Errorf("%d errors, %s", len(p.Errors), p.Detail)
	}
}

// TestProblemsSayWhatMayHaveBeenMeant: a misspelt step or state is answered with the names that there are.
func TestProblemsSayWhatMayHaveBeenMeant(t *testing.T) {
	t.Parallel()
	h := setup(t)
	claim := h.claim("web-01", "t")
	for body, want := range map[string]string{
		`{"step":"onlin","state":"ASSET_ONLINE"}`:    "did you mean online?",
		`{"step":"scan","state":"ASSET_ONLINE"}`:     "write one of online, vuln, intel, assess",
		`{"step":"online","state":"ASSET_ONLIEN"}`:   "did you mean ASSET_ONLINE?",
		`{"step":"online","state":"ONLINE"}`:         "write one of ASSET_ONLINE, ASSET_OFFLINE",
		`{"step":"assess","state":"HIGH_RISK_FOUN"}`: "allowed are online",
	} {
		r := h.do("POST", claim+"/steps", body)
		if !strings.Contains(r.body, want) {
			t.Errorf("%s is answered %s, want %q", body, r.body, want)
		}
	}
	if r := h.do("POST", claim+"/failures", `{"step":"vlun","error":"x"}`); !strings.Contains(r.body, "did you mean vuln?") {
		t.Errorf("got %s", r.body)
	}
}
