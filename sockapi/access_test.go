// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// as makes a request as a user's, as if the kernel had said so.
func (h *host) as(uid uint32, method, path, body string) reply {
	h.Helper()
	return h.asPeer(engine.Peer{UID: uid}, method, path, body)
}

func (h *host) asPeer(peer engine.Peer, method, path, body string) reply {
	h.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if body == "" {
		req.Body = http.NoBody
	}
	w := h.server.record(req.WithContext(context.WithValue(req.Context(), peerKey{}, peer)))
	return reply{status: w.Code, header: w.Header(), body: w.Body.String()}
}

// TestOwner: a claim serves the user who made it, and root, and nobody else in any call.
func TestOwner(t *testing.T) {
	t.Parallel()
	h := setup(t)
	const mine, other = 1000, 1001
	var got client.ClaimResponse
	r := h.wants(h.as(mine, "POST", "/v1/claims", `{"asset":"a","task":"t","heartbeat":"1m"}`), http.StatusCreated)
	must(t, json.Unmarshal([]byte(r.body), &got))
	if got.Claim.UID != mine {
		t.Errorf("the claim is user %d's", got.Claim.UID)
	}
	bodies := map[string]string{
		"step": `{"step":"online","state":"ASSET_ONLINE"}`, "fail": `{"step":"online","error":"e"}`,
		"notify": `{"title":"t","text":"x","severity":"low"}`,
	}
	owned := 0
	for _, one := range routes {
		if one.access != ownerOnly && one.access != forced {
			continue
		}
		owned++
		h.refused(h.as(other, one.method, strings.Replace(one.path, "{id}", got.Claim.ID, 1), bodies[one.id]), client.Forbidden)
	}
	if owned != strings.Count(documentedOwners, " ")+1 {
		t.Errorf("%d calls are the owner's, want %s", owned, documentedOwners)
	}
	path := "/v1/claims/" + got.Claim.ID
	for uid, want := range map[uint32]int{mine: 1, other: 0, 0: 1} {
		var list client.ClaimList
		must(t, json.Unmarshal([]byte(h.wants(h.as(uid, "GET", "/v1/claims", ""), http.StatusOK).body), &list))
		if len(list.Claims) != want {
			t.Errorf("user %d sees %d claims, want %d", uid, len(list.Claims), want)
		}
	}
	h.wants(h.as(0, "POST", path+"/steps", bodies["step"]), http.StatusOK)
	h.wants(h.as(mine, "POST", path+"/steps", bodies["step"]), http.StatusOK)
	h.wants(h.as(mine, "DELETE", path, ""), http.StatusNoContent)
}

// TestForeignRoot: root of another namespace sees its own claims alone, can act on no other, and is no admin.
func TestForeignRoot(t *testing.T) {
	t.Parallel()
	h := setup(t)
	foreign := engine.Peer{UID: 0, Foreign: true}
	claim := func(peer engine.Peer, asset string) string {
		var got client.ClaimResponse
		r := h.wants(h.asPeer(peer, "POST", "/v1/claims", `{"asset":"`+asset+`","task":"t","heartbeat":"1m"}`), http.StatusCreated)
		must(t, json.Unmarshal([]byte(r.body), &got))
		return "/v1/claims/" + got.Claim.ID
	}
	own := claim(foreign, "own")
	for _, peer := range []engine.Peer{{UID: 0}, {UID: 1000}} {
		others := claim(peer, "of-"+strconv.Itoa(int(peer.UID)))
		h.refused(h.asPeer(foreign, "GET", others, ""), client.Forbidden)
		h.refused(h.asPeer(foreign, "POST", others+"/steps", `{"step":"online","state":"ASSET_OFFLINE"}`), client.Forbidden)
		h.refused(h.asPeer(foreign, "POST", others+"/finish", ""), client.Forbidden)
		h.refused(h.asPeer(foreign, "DELETE", others, ""), client.Forbidden)
		h.refused(h.asPeer(foreign, "DELETE", others+"?force=true", ""), client.Forbidden)
	}
	var list client.ClaimList
	must(t, json.Unmarshal([]byte(h.wants(h.asPeer(foreign, "GET", "/v1/claims", ""), http.StatusOK).body), &list))
	if len(list.Claims) != 1 {
		t.Errorf("a foreign root sees %+v", list.Claims)
	}
	h.refused(h.asPeer(foreign, "POST", "/v1/locks/own/break", `{"reason":"r"}`), client.Forbidden)
	h.wants(h.as(0, "POST", own+"/heartbeat", ""), http.StatusOK)
	h.wants(h.asPeer(foreign, "DELETE", own, ""), http.StatusNoContent)
}

// documentedOwners are the calls on a claim.
const documentedOwners = "getClaim release heartbeat step fail notify finish"
