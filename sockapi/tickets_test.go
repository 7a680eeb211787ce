// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// TestListingKnowsTheStates: what may be asked for is what the flow can reach, and what it cannot is refused with the list.
func TestListingKnowsTheStates(t *testing.T) {
	t.Parallel()
	reached := []store.State{store.Failed, store.Init, store.Notified} // the first and the last are where no step leads
	for i := 0; i < len(reached); i++ {
		for _, flow := range []*store.Flow{store.AssetInference, store.ListReport} {
			for _, next := range flow.Next(reached[i]) {
				for _, s := range next.States {
					if !slices.Contains(reached, s) {
						reached = append(reached, s)
					}
				}
			}
		}
	}
	field, _ := reflect.TypeFor[ticketsQuery]().FieldByName("State")
	known := strings.Split(field.Tag.Get("enum"), ",")
	for _, s := range reached {
		if !slices.Contains(known, string(s)) {
			t.Errorf("%s cannot be asked for", s)
		}
	}
	if len(known) != len(reached) {
		t.Errorf("%q may be asked for, the flow reaches %q", known, reached)
	}

	h := serve(t, Config{})
	p := h.refused(h.do("GET", "/v1/tickets?state=NOPE", ""), client.Invalid)
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "INIT, ASSET_ONLINE") {
		t.Errorf("got %+v", p)
	}
}

// TestStates: many tickets are told at once, each under the name that was given, and what is not there is null.
func TestStates(t *testing.T) {
	t.Parallel()
	h := setup(t)
	claim := h.claim("web.example.com", "t")
	h.wants(h.do("POST", claim+"/steps", `{"step":"online","state":"ASSET_ONLINE"}`), http.StatusOK)
	h.claim("a/b", "t")
	got, err := h.client.States(t.Context(), []string{"WEB.example.com/t", "a/b/t", "nobody/t"})
	must(t, err)
	ticket, err := h.client.Ticket(t.Context(), "web.example.com", "t")
	must(t, err)
	if s := got["WEB.example.com/t"]; s == nil || s.State != client.StateAssetOnline || s.Run != 1 || !s.UpdatedAt.Equal(ticket.UpdatedAt) {
		t.Errorf("got %+v", s)
	}
	if s, asked := got["nobody/t"]; got["a/b/t"] == nil || s != nil || !asked || len(got) != 3 {
		t.Errorf("got %+v", got)
	}
	h.audit.take()
	h.wants(h.do("POST", "/v1/tickets/states", `{"ids":["a/t"]}`), http.StatusOK)
	if told := h.audit.take(); len(told) != 0 {
		t.Errorf("a read is told as %+v", told)
	}
}

// TestTicketsAndTasks: what is asked for is found, by the filters' names, and the last page has null for a cursor.
func TestTicketsAndTasks(t *testing.T) {
	t.Parallel()
	h := setup(t)
	claim := h.claim("web-01", "t")
	h.wants(h.do("POST", claim+"/failures", `{"step":"online","error":"no route"}`), http.StatusOK)
	h.claim("db-01", "t")
	r := h.wants(h.do("GET", "/v1/tickets?failed&task=t&asset=web-*&held=true&host=scan-01", ""), http.StatusOK)
	if !strings.Contains(r.body, `"id":"web-01/t"`) || strings.Contains(r.body, "db-01") || !strings.Contains(r.body, `"cursor":null`) {
		t.Errorf("got %s", r.body)
	}
	if r = h.wants(h.do("GET", "/v1/tickets?stuck=true&high_risk=true", ""), http.StatusOK); !strings.Contains(r.body, `"tickets":[]`) {
		t.Errorf("got %s", r.body)
	}
	r = h.wants(h.do("GET", "/v1/tasks?limit=5", ""), http.StatusOK)
	if !strings.Contains(r.body, `{"tasks":[{"task":"t","total":2,"lists":0,"states":{"INIT":2},"damaged":0,"failed":1,"high_risk":0,"per_minute":0,`) {
		t.Errorf("got %s", r.body)
	}
	h.wants(h.do("GET", "/v1/tasks/t", ""), http.StatusOK)
	h.claim("web-*", "star") // whose own name ends so
	if r = h.wants(h.do("GET", "/v1/tickets?asset=web-*&exact=true", ""), http.StatusOK); !strings.Contains(r.body, `"id":"web-*/star"`) || strings.Contains(r.body, "web-01") {
		t.Errorf("got %s", r.body)
	}
	h.refused(h.do("GET", "/v1/tasks/none", ""), client.TaskNotFound)
}
