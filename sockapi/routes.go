// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

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
	free     bool          // it asks nobody, and needs no turn
	answers  map[int][]any // by status: a value of the type that is answered as JSON, or a mediaType
	refusals codes         // those of this call alone; codes lists all
}

type codes []client.Code

// codes returns every code that a call can be refused with.
func (r route) codes() codes {
	all := codes{client.BadRequest, client.BodyTooLarge, client.Invalid, client.Internal, client.TooManyCalls}
	if strings.Contains(r.path, "{asset}") {
		all = append(all, client.InvalidAsset)
	}
	if strings.Contains(r.path, "{task}") {
		all = append(all, client.InvalidTask)
	}
	switch r.access {
	case owner:
		all = append(all, client.ClaimNotFound, client.Forbidden)
	case admin:
		all = append(all, client.Forbidden)
	}
	all = append(all, r.refusals...)
	slices.Sort(all)
	return slices.Compact(all)
}

// routes is the table of all calls. The router and the OpenAPI document are made from it.
var routes = []route{
	{
		method: "POST", path: "/v1/claims", id: "claim", access: anyone,
		summary: "Claim an asset for a task.",
		handler: handle(claim),
		answers: map[int][]any{
			http.StatusCreated: {client.ClaimResponse{}},
			http.StatusOK:      {client.ClaimResponse{}},
		},
		refusals: codes{client.InvalidAsset, client.InvalidTask, client.UnknownFlow, client.Forbidden, client.FlowMismatch, client.LockHeld, client.TooManyClaims, client.ClaimLost, client.StoreUnavailable, client.Draining},
	},
	{
		method: "GET", path: "/v1/claims", id: "listClaims", access: anyone,
		summary: "List the caller's held claims, for root everybody's.",
		handler: handle(listClaims),
		answers: ok(client.ClaimList{}),
	},
	{
		method: "GET", path: "/v1/claims/{id}", id: "getClaim", access: owner, free: true,
		summary:  "Read a claim, or with wait watch it.",
		handler:  handle(getClaim),
		answers:  ok(client.ClaimBody{}),
		refusals: codes{client.Draining},
	},
	{
		method: "DELETE", path: "/v1/claims/{id}", id: "release", access: owner,
		summary:  "Release a claim and leave its ticket as it is. With force, an admin ends another's.",
		handler:  handle(release),
		answers:  map[int][]any{http.StatusNoContent: nil},
		refusals: codes{client.ClaimLost, client.StaleToken, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/heartbeat", id: "heartbeat", access: owner, free: true,
		summary:  "Give a sign of life.",
		handler:  handle(heartbeat),
		answers:  ok(client.ClaimBody{}),
		refusals: codes{client.ClaimLost},
	},
	{
		method: "POST", path: "/v1/claims/{id}/steps", id: "step", access: owner,
		summary:  "Record a step's result, once.",
		handler:  handle(step),
		answers:  ok(client.StepResponse{}),
		refusals: codes{client.UnknownStep, client.StepConflict, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/failures", id: "fail", access: owner,
		summary:  "Record that a step failed.",
		handler:  handle(fail),
		answers:  ok(client.FailureResponse{}),
		refusals: codes{client.UnknownStep, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/notification", id: "notify", access: owner,
		summary: "Have people told.",
		handler: handle(notify),
		answers: map[int][]any{
			http.StatusAccepted: {client.NotificationResponse{}},
			http.StatusOK:       {client.NotificationResponse{}},
		},
		refusals: codes{client.UnknownChannel, client.ContentConflict, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/finish", id: "finish", access: owner,
		summary:  "Finish the ticket and release the claim.",
		handler:  handle(finish),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets", id: "listTickets", access: anyone,
		summary:  "List tickets, the one written last first.",
		handler:  handle(listTickets),
		answers:  ok(client.TicketList{}),
		refusals: codes{client.InvalidAsset, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets/{asset}/{task}", id: "getTicket", access: anyone,
		summary:  "Read a ticket, without a lock.",
		handler:  handle(getTicket),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets/{asset}/{task}/history", id: "getHistory", access: anyone,
		summary:  "Read what was written to a ticket, and what was refused.",
		handler:  handle(getHistory),
		answers:  ok(client.History{}),
		refusals: codes{client.TicketNotFound, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/tickets/{asset}/{task}/reopen", id: "reopen", access: admin,
		summary:  "Begin a new run of a finished or failed ticket.",
		handler:  handle(reopen),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/locks/{asset}/break", id: "breakLock", access: admin,
		summary:  "Fence an asset's holder off, on whatever host, and free its lock.",
		handler:  handle(breakLock),
		answers:  map[int][]any{http.StatusNoContent: nil},
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/outbox", id: "listIntents", access: anyone,
		summary:  "List the intents in this host's outbox.",
		handler:  handle(listIntents),
		answers:  ok(client.IntentList{}),
		refusals: codes{client.OutboxUnavailable},
	},
	{
		method: "GET", path: "/v1/outbox/{asset}/{task}", id: "getIntents", access: anyone,
		summary:  "Read a ticket's intents in this host's outbox.",
		handler:  handle(getIntents),
		answers:  ok(client.IntentList{}),
		refusals: codes{client.IntentNotFound, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/retry", id: "retry", access: admin,
		summary:  "Send once more on channels that are dead, parked or unknown, from this host.",
		handler:  handle(resolve(Engine.Retry)),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/discard", id: "discard", access: admin,
		summary:  "Give channels of a notification up, on every host.",
		handler:  handle(resolve(Engine.Discard)),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/settle", id: "settle", access: admin,
		summary:  "Record that a notification did arrive on channels whose outcome is unknown.",
		handler:  handle(resolve(Engine.Settle)),
		answers:  ok(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/channels/{name}/test", id: "testChannel", access: admin,
		summary:  "Send a harmless message on a channel of this daemon, once, and say what came back.",
		handler:  handle(testChannel),
		answers:  ok(client.ChannelTest{}),
		refusals: codes{client.UnknownChannel},
	},
	{
		method: "GET", path: "/v1/status", id: "status", access: anyone,
		summary: "Read what this daemon is and does.",
		handler: handle(status),
		answers: ok(client.Status{}),
	},
	{
		method: "GET", path: "/v1/openapi.json", id: "openapi", access: anyone,
		summary: "Read this document.",
		handler: handle(document),
		answers: ok(mediaType("application/json")),
	},
	{
		method: "GET", path: "/livez", id: "livez", access: anyone, free: true,
		summary: "Is the daemon alive? It never asks Redis.",
		handler: handle(livez),
		answers: ok(mediaType("text/plain")),
	},
	{
		method: "GET", path: "/readyz", id: "readyz", access: anyone,
		summary: "Can the daemon serve? With verbose, check by check.",
		handler: handle(readyz),
		answers: map[int][]any{
			http.StatusOK:                 {mediaType("text/plain"), client.Readiness{}},
			http.StatusServiceUnavailable: {mediaType("text/plain"), client.Readiness{}},
		},
	},
	{
		method: "GET", path: "/metrics", id: "metrics", access: anyone,
		summary: "Read the metrics, in the form of Prometheus.",
		handler: handle(metricsPage),
		answers: ok(mediaType("text/plain")),
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
		if c.conn != nil && !c.free {
			if err := c.conn.begin(c.request.Context()); err != nil {
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
