// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/sockapi/client"
)

// auditLog keeps what is told to the audit.
type auditLog struct {
	mu  sync.Mutex
	got []audit.Event
}

func (l *auditLog) add(a audit.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, a)
}

// take returns what was told since it was last called.
func (l *auditLog) take() []audit.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// TestG12_EveryRefusedCallThatWritesIsRecorded, whoever refuses it and wherever, once and with who made it; one that reads, or a
// heartbeat, is not.
func TestG12_EveryRefusedCallThatWritesIsRecorded(t *testing.T) {
	t.Parallel()
	h := setup(t)
	const mine, other = 1000, 1001
	var got client.ClaimResponse
	r := h.wants(h.as(mine, "POST", "/v1/claims", `{"asset":"a","task":"t","heartbeat":"1m"}`), http.StatusCreated)
	must(t, json.Unmarshal([]byte(r.body), &got))
	if told := h.audit.take(); len(told) != 1 || told[0].Kind != audit.Claimed || told[0].Agent != "0/1000" || told[0].Call != "claim" {
		t.Errorf("the claim is told as %+v", told)
	}
	bodies := map[string]string{
		"step": `{"step":"online","state":"ASSET_ONLINE"}`, "fail": `{"step":"online","error":"e"}`,
		"notify": `{"title":"t","text":"x","severity":"low"}`,
	}
	fill := strings.NewReplacer("{id}", got.Claim.ID, "{asset}", "a", "{task}", "t", "{name}", "ops", "{host}", "h")
	one := func(r route, code client.Code, uid string) {
		t.Helper()
		told := h.audit.take()
		if !r.writes() {
			if len(told) != 0 {
				t.Errorf("%s is told as %+v", r.id, told)
			}
			return
		}
		if len(told) != 1 {
			t.Fatalf("%s is told as %+v, want one record", r.id, told)
		}
		a := told[0]
		if a.Kind != audit.Refused || a.Call != r.id || a.Code != string(code) || a.Agent != "0/"+uid || a.Reason == "" {
			t.Errorf("%s is told as %+v", r.id, a)
		}
		if strings.Contains(r.path, "{id}") && (a.Asset+"/"+a.Task != "a/t" || a.Token != got.Claim.Token) {
			t.Errorf("%s: the claim is %s with %d, told is %+v", r.id, got.Claim.Ticket, got.Claim.Token, a)
		}
		if strings.Contains(r.path, "{asset}") && a.Asset != "a" {
			t.Errorf("%s: told is %+v", r.id, a)
		}
	}
	for _, r := range routes {
		if r.access != anyone {
			h.refused(h.as(other, r.method, fill.Replace(r.path), bodies[r.id]), client.Forbidden)
			one(r, client.Forbidden, "1001")
		}
		code := client.Invalid
		if r.access == adminOnly {
			code = client.Forbidden
		}
		if h.as(mine, r.method, fill.Replace(r.path), `[1]`); r.writes() {
			one(r, code, "1000")
		}
	}
	h.as(mine, "POST", "/v1/nothing", "")
	h.as(mine, "PUT", "/v1/claims", "")
	if told := h.audit.take(); len(told) != 0 {
		t.Errorf("what is no call is told as %+v", told)
	}
}
