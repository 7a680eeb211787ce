// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// openapiDocument is what is looked at here of the served document.
type openapiDocument struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Access      string `json:"x-access"`
		Parameters  []struct {
			Name, In string
			Required bool
		}
		RequestBody *struct{ Required bool }
		Responses   map[string]any
	}
	Components struct {
		Schemas map[string]struct {
			Type                 string
			Properties           map[string]map[string]any
			Required             []string
			AdditionalProperties any
		}
	}
}

func servedDocument(t *testing.T) openapiDocument {
	t.Helper()
	h := serve(t, Config{})
	r := h.wants(h.do("GET", "/v1/openapi.json", ""), http.StatusOK)
	var d openapiDocument
	if err := json.Unmarshal([]byte(r.body), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestOpenAPIHasTheRoutes: every route is in the document with its parameters, its access and its answers, and nothing else.
func TestOpenAPIHasTheRoutes(t *testing.T) {
	t.Parallel()
	d := servedDocument(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("openapi is %q", d.OpenAPI)
	}
	described := 0
	for _, methods := range d.Paths {
		described += len(methods)
	}
	if described != len(routes) {
		t.Errorf("the document has %d calls, the table %d", described, len(routes))
	}
	for _, r := range routes {
		op, found := d.Paths[r.path][strings.ToLower(r.method)]
		if !found {
			t.Errorf("%s %s is not in the document", r.method, r.path)
			continue
		}
		if op.OperationID != r.id || op.Access != string(r.access) || r.access == "" {
			t.Errorf("%s %s: id %q, access %q", r.method, r.path, op.OperationID, op.Access)
		}
		if want := strings.Count(r.path, "{") + len(r.queryFields); len(op.Parameters) != want {
			t.Errorf("%s %s has %d parameters, want %d", r.method, r.path, len(op.Parameters), want)
		}
		statuses := map[string]bool{"default": true}
		for status := range r.answers {
			statuses[strconv.Itoa(status)] = true
		}
		for _, code := range r.codes() {
			statuses[strconv.Itoa(code.Status())] = true
		}
		if got := slices.Sorted(maps.Keys(op.Responses)); !slices.Equal(got, slices.Sorted(maps.Keys(statuses))) {
			t.Errorf("%s %s has the answers %v, want %v", r.method, r.path, got, slices.Sorted(maps.Keys(statuses)))
		}
		if (op.RequestBody != nil) != r.takesBody() || op.RequestBody != nil && op.RequestBody.Required == r.mayBeEmpty() {
			t.Errorf("%s %s: the body is %+v", r.method, r.path, op.RequestBody)
		}
	}
}

// TestOpenAPIHasTheFields: every field of every wire type is in the document, and the requests' limits are.
func TestOpenAPIHasTheFields(t *testing.T) {
	t.Parallel()
	d := servedDocument(t)
	for _, v := range []any{
		client.ClaimRequest{},
		client.StepRequest{},
		client.FailureRequest{},
		client.NotificationRequest{},
		client.FinishRequest{},
		client.ListRequest{},
		client.ListsResponse{},
		client.ReportRequest{},
		client.ReportResponse{},
		client.ListPartRequest{},
		client.ListPart{},
		client.ChunkRequest{},
		client.ChunkResponse{},
		client.StatesRequest{},
		client.TicketState{},
		client.Task{},
		client.Claim{},
		client.Ticket{},
		client.Step{},
		client.Failure{},
		client.Notification{},
		client.Delivery{},
		client.Holder{},
		client.Event{},
		client.Intent{},
		client.IntentDelivery{},
		client.Status{},
		client.Check{},
		client.Next{},
		client.Problem{},
		client.FieldError{},
		client.Readiness{},
		client.OutboxStatus{},
		client.ChannelInfo{},
		client.Warning{},
		client.UserClaims{},
		client.RedisStatus{},
		client.Member{},
		client.Host{},
		client.HostList{},
		client.RetireResponse{},
	} {
		typ := reflect.TypeOf(v)
		schema, found := d.Components.Schemas[typ.Name()]
		if !found {
			t.Errorf("%s is not in the document", typ.Name())
			continue
		}
		request := strings.HasSuffix(typ.Name(), "Request")
		if schema.AdditionalProperties != !request {
			t.Errorf("%s: additionalProperties is %v", typ.Name(), schema.AdditionalProperties)
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if property := schema.Properties[name]; property == nil && name != "-" {
				t.Errorf("%s.%s is not in the document", typ.Name(), name)
			} else if request && property["type"] == "string" && property["maxLength"] == nil && property["enum"] == nil && typ.Field(i).Tag.Get("form") != "duration" {
				t.Errorf("%s.%s has no limit", typ.Name(), name)
			}
		}
	}
	if any := d.Components.Schemas["ClaimResponse"].Properties["claim"]["anyOf"]; any == nil {
		t.Error("a claim's answer cannot have the claim null")
	}
}
