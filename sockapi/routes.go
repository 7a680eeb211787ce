// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"reflect"

	"github.com/picketd/picket/sockapi/client"
)

// access says who may make a call, of those whom the socket's mode and group let in.
type access string

const (
	anyone access = "anyone"
	owner  access = "owner" // the uid that made the claim, and root: the engine decides it with the call
	admin  access = "admin" // root, and members of the admin group
)

// route is one call: what it takes, what it answers, who may make it.
type route struct {
	method  string
	path    string
	id      string
	summary string
	access  access
	handler
	answers map[int][]any // by status: a value of the type that is answered as JSON, or a mediaType
}

// routes is the table of all calls. The router and the OpenAPI document are made from it.
var routes = []route{
	{
		"POST", "/v1/claims", "claim", "Claim an asset for a task.",
		anyone, handle(claim),
		map[int][]any{
			http.StatusCreated: {client.ClaimResponse{}},
			http.StatusOK:      {client.ClaimResponse{}},
		},
	},
	{
		"GET", "/v1/claims", "listClaims", "List the caller's held claims, for root everybody's.",
		anyone, handle(listClaims), ok(client.ClaimList{}),
	},
	{
		"GET", "/v1/claims/{id}", "getClaim", "Read a claim, or with wait watch it.",
		owner, handle(getClaim), ok(client.ClaimBody{}),
	},
	{
		"DELETE", "/v1/claims/{id}", "release", "Release a claim and leave its ticket as it is. With force, an admin ends another's.",
		owner, handle(release),
		map[int][]any{http.StatusNoContent: nil},
	},
	{
		"POST", "/v1/claims/{id}/heartbeat", "heartbeat", "Give a sign of life.",
		owner, handle(heartbeat), ok(client.ClaimBody{}),
	},
	{
		"POST", "/v1/claims/{id}/steps", "step", "Record a step's result, once.",
		owner, handle(step), ok(client.StepResponse{}),
	},
	{
		"POST", "/v1/claims/{id}/failures", "fail", "Record that a step failed.",
		owner, handle(fail), ok(client.FailureResponse{}),
	},
	{
		"POST", "/v1/claims/{id}/notification", "notify", "Have people told.",
		owner, handle(notify),
		map[int][]any{
			http.StatusAccepted: {client.NotificationResponse{}},
			http.StatusOK:       {client.NotificationResponse{}},
		},
	},
	{
		"POST", "/v1/claims/{id}/finish", "finish", "Finish the ticket and release the claim.",
		owner, handle(finish), ok(client.TicketBody{}),
	},
	{
		"GET", "/v1/tickets", "listTickets", "List tickets, the one written last first.",
		anyone, handle(listTickets), ok(client.TicketList{}),
	},
	{
		"GET", "/v1/tickets/{asset}/{task}", "getTicket", "Read a ticket, without a lock.",
		anyone, handle(getTicket), ok(client.TicketBody{}),
	},
	{
		"GET", "/v1/tickets/{asset}/{task}/history", "getHistory", "Read what was written to a ticket, and what was refused.",
		anyone, handle(getHistory), ok(client.History{}),
	},
	{
		"POST", "/v1/tickets/{asset}/{task}/reopen", "reopen", "Begin a new run of a finished or failed ticket.",
		admin, handle(reopen), ok(client.TicketBody{}),
	},
	{
		"POST", "/v1/locks/{asset}/break", "breakLock", "Fence an asset's holder off, on whatever host, and free its lock.",
		admin, handle(breakLock),
		map[int][]any{http.StatusNoContent: nil},
	},
	{
		"GET", "/v1/outbox", "listIntents", "List the intents in this host's outbox.",
		anyone, handle(listIntents), ok(client.IntentList{}),
	},
	{
		"GET", "/v1/outbox/{asset}/{task}", "getIntents", "Read a ticket's intents in this host's outbox.",
		anyone, handle(getIntents), ok(client.IntentList{}),
	},
	{
		"POST", "/v1/outbox/{asset}/{task}/retry", "retry", "Send once more on channels that are dead, parked or unknown, from this host.",
		admin, handle(resolve(Engine.Retry)), ok(client.TicketBody{}),
	},
	{
		"POST", "/v1/outbox/{asset}/{task}/discard", "discard", "Give channels of a notification up, on every host.",
		admin, handle(resolve(Engine.Discard)), ok(client.TicketBody{}),
	},
	{
		"POST", "/v1/outbox/{asset}/{task}/settle", "settle", "Record that a notification did arrive on channels whose outcome is unknown.",
		admin, handle(resolve(Engine.Settle)), ok(client.TicketBody{}),
	},
	{
		"POST", "/v1/channels/{name}/test", "testChannel", "Send a harmless message on a channel of this daemon, once, and say what came back.",
		admin, handle(testChannel), ok(client.ChannelTest{}),
	},
	{
		"GET", "/v1/status", "status", "Read what this daemon is and does.",
		anyone, handle(status), ok(client.Status{}),
	},
	{
		"GET", "/v1/openapi.json", "openapi", "Read this document.",
		anyone, handle(document), ok(mediaType("application/json")),
	},
	{
		"GET", "/livez", "livez", "Is the daemon alive? It never asks Redis.",
		anyone, handle(livez), ok(mediaType("text/plain")),
	},
	{
		"GET", "/readyz", "readyz", "Can the daemon serve? With verbose, check by check.",
		anyone, handle(readyz),
		map[int][]any{
			http.StatusOK:                 {mediaType("text/plain"), client.Readiness{}},
			http.StatusServiceUnavailable: {mediaType("text/plain"), client.Readiness{}},
		},
	},
	{
		"GET", "/metrics", "metrics", "Read the metrics, in the form of Prometheus.",
		anyone, handle(metricsPage), ok(mediaType("text/plain")),
	},
}

// mediaType stands in the table for an answer that has no Go type.
type mediaType string

func ok(body any) map[int][]any { return map[int][]any{http.StatusOK: {body}} }

// none is the type of a query or a body that a call does not take; empty that of a body without fields, which may be left
// out.
type (
	none  struct{}
	empty struct{}
)

// handler is a call's function behind the decoding of its query and its body.
type handler struct {
	query, body         reflect.Type
	queryFields, fields []field
	run                 func(*Server, *call) (answer, error)
}

// handle makes a handler of a function that takes a query Q and a body B.
func handle[Q, B any](f func(*Server, *call, Q, B) (answer, error)) handler {
	h := handler{query: reflect.TypeFor[Q](), body: reflect.TypeFor[B]()}
	h.queryFields, h.fields = fieldsOf(h.query), fieldsOf(h.body)
	h.run = func(s *Server, c *call) (answer, error) {
		var q Q
		var b B
		if err := decodeQuery(c.request.URL.RawQuery, h.queryFields, &q); err != nil {
			return answer{}, err
		}
		body, err := c.readBody()
		if err != nil {
			return answer{}, err
		}
		if len(body) > 0 || !h.mayBeEmpty() {
			if !h.takesBody() {
				return answer{}, invalid("body", "must be left out")
			}
			if err := decode(body, h.fields, &b); err != nil {
				return answer{}, err
			}
		}
		return f(s, c, q, b)
	}
	return h
}

func (h handler) takesBody() bool { return h.body != reflect.TypeFor[none]() }

// mayBeEmpty reports whether the body may be left out, as none of its fields is required.
func (h handler) mayBeEmpty() bool {
	for _, f := range h.fields {
		if f.required {
			return false
		}
	}
	return true
}
