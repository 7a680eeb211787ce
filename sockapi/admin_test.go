// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

func TestWhoIsAdmin(t *testing.T) {
	t.Parallel()
	gid := uint32(77)
	with, without := &Config{AdminGID: &gid}, &Config{}
	for _, c := range []struct {
		who           string
		peer          engine.Peer
		with, without bool
	}{
		{"root", engine.Peer{UID: 0}, true, true},
		{"a member", engine.Peer{UID: 1000, Groups: []uint32{5, 77}}, true, false},
		{"anybody", engine.Peer{UID: 1000, Groups: []uint32{5}}, false, false},
		{"a user whose number is the group's", engine.Peer{UID: 77}, false, false},
		{"root of a container", engine.Peer{UID: 0, Foreign: true}, false, false},
		{"a member in a container", engine.Peer{UID: 1000, Groups: []uint32{77}, Foreign: true}, false, false},
	} {
		if got := with.isAdmin(c.peer); got != c.with {
			t.Errorf("%s: %v with a group", c.who, got)
		}
		if got := without.isAdmin(c.peer); got != c.without {
			t.Errorf("%s: %v without one", c.who, got)
		}
	}
}

// TestPeerGroups: the kernel tells the groups, the primary one and the others.
func TestPeerGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o755))
	socket := filepath.Join(dir, "s")
	raw, err := net.Listen("unix", socket)
	must(t, err)
	must(t, os.Chmod(socket, 0o666))
	ln := newListener(raw, newLimits(4, 4), quiet())
	defer ln.Close()
	many := make([]uint32, 100) // more than the first question has room for
	for i := range many {
		many[i] = uint32(20000 + i)
	}
	agent(t, socket, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12346, Groups: many}})
	c, err := ln.Accept()
	must(t, err)
	defer c.Close()
	groups := c.(*conn).peer.Groups
	if len(groups) != 101 || !slices.Contains(groups, 12346) || !slices.Contains(groups, 20099) {
		t.Errorf("the groups are %v", groups)
	}
}

// TestAdminCalls: break, force and reopen, and what they tell the holder.
func TestAdminCalls(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ctx := t.Context()
	claim := func(asset string) client.ClaimResponse {
		t.Helper()
		r, err := h.client.Claim(ctx, client.ClaimRequest{Asset: asset, Task: "t", Heartbeat: "1m"})
		must(t, err)
		return r
	}
	lost := func(id string) {
		t.Helper()
		_, err := h.client.Heartbeat(ctx, id)
		var p *client.Problem
		if !errors.As(err, &p) || p.Code != client.ClaimLost || p.Reason != client.ReasonForced {
			t.Errorf("the holder is told %v", err)
		}
	}
	r := claim("web/01 %")
	must(t, h.client.Break(ctx, "web/01 %", "it hangs"))
	lost(r.Claim.ID)
	r = claim("web/01 %")
	must(t, h.client.Force(ctx, r.Claim.ID))
	lost(r.Claim.ID)

	r = claim("web/01 %")
	if got := h.do("POST", "/v1/tickets/web%2F01%20%25/t/reopen", `{"reason":"too early"}`); got.status != http.StatusConflict {
		t.Errorf("reopening an unfinished ticket: %d %s", got.status, got.body)
	}
	_, err := h.client.Fail(ctx, r.Claim.ID, client.FailureRequest{Step: client.StepOnline, Error: "broken", Final: true})
	must(t, err)
	ticket, err := h.client.Reopen(ctx, "web/01 %", "t", "a mistake")
	if err != nil || ticket.Run != 2 || ticket.State != client.StateInit {
		t.Errorf("reopened: %+v, %v", ticket, err)
	}
	lost(r.Claim.ID)
	history, err := h.client.History(ctx, "web/01 %", "t")
	must(t, err)
	if last := history.Events[len(history.Events)-1]; last.Event != "reopened" || last.Reason != "a mistake" || last.From != client.StateFailed {
		t.Errorf("the last event is %+v", last)
	}

	for path, body := range map[string]string{
		"/v1/locks/x/break":        `{"reason":""}`,
		"/v1/tickets/x/t/reopen":   `{}`,
		"/v1/locks/x/break?a=1":    `{"reason":"r"}`,
		"/v1/tickets/x/t/reopen?x": `{"reason":"r"}`,
	} {
		if got := h.do("POST", path, body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
		}
	}
	if got := h.do("DELETE", "/v1/claims/"+r.Claim.ID+"?force=perhaps", ""); got.status != http.StatusUnprocessableEntity {
		t.Errorf("force=perhaps: %d %s", got.status, got.body)
	}
	if got := h.do("POST", "/v1/tickets/none/t/reopen", `{"reason":"r"}`); got.status != http.StatusNotFound {
		t.Errorf("reopening nothing: %d %s", got.status, got.body)
	}
}

// TestResolve: discard, retry and settle, each where it may be and where not.
func TestResolve(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ctx := t.Context()
	r, err := h.client.Claim(ctx, client.ClaimRequest{Asset: "a/b", Task: "t", Heartbeat: "1m"})
	must(t, err)
	for _, s := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone}, {Step: client.StepAssess, State: client.StateHighRiskFound},
	} {
		_, err := h.client.Step(ctx, r.Claim.ID, s)
		must(t, err)
	}
	if _, err := h.client.Discard(ctx, "a/b", "t", "", "too early"); err == nil {
		t.Error("discarded before there was a notification")
	}
	_, err = h.client.Notify(ctx, r.Claim.ID, client.NotificationRequest{Title: "x", Text: "y", Severity: client.SeverityLow}, 0)
	must(t, err)
	for path, status := range map[string]int{
		"/v1/outbox/a%2Fb/t/retry": 422, "/v1/outbox/a%2Fb/t/settle": 422, "/v1/outbox/none/t/discard": 404, "/v1/outbox/none/t/retry": 404,
	} {
		if got := h.do("POST", path, `{"reason":"r"}`); got.status != status {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	ticket, err := h.client.Discard(ctx, "a/b", "t", "ops", "nobody reads it")
	if err != nil || ticket.State != client.StateFailed || ticket.Delivery["ops"].Status != client.DeliveryDiscarded {
		t.Errorf("discarded: %+v, %v", ticket, err)
	}
}

// TestAdminCallsAreForbiddenToOthers, also when the caller owns the claim.
func TestAdminCallsAreForbiddenToOthers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	table := newRouter(routes)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/locks/x/break", `{"reason":"r"}`},
		{"POST", "/v1/tickets/x/t/reopen", `{"reason":"r"}`},
		{"POST", "/v1/outbox/x/t/retry", `{"reason":"r"}`},
		{"POST", "/v1/outbox/x/t/discard", `{"reason":"r"}`},
		{"POST", "/v1/outbox/x/t/settle", `{"reason":"r"}`},
		{"POST", "/v1/channels/ops/test", ""},
		{"POST", "/v1/hosts/x/retire", `{"reason":"r"}`},
		{"DELETE", "/v1/claims/none?force=true", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://picket"+c.path, http.NoBody)
		must(t, err)
		route, params, err := table.find(req, http.Header{})
		must(t, err)
		_, err = h.server.run(route, &call{api: &h.server.config, request: req, peer: engine.Peer{UID: 1000}, params: params})
		var p *client.Problem
		if !errors.As(err, &p) || p.Code != client.Forbidden {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
}
