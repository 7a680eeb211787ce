// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"

	"github.com/picketd/picket/sockapi/client"
)

// routes is the table of all calls. The router and the OpenAPI document are made from it.
var routes = []route{
	{
		method: "POST", path: "/v1/claims", id: "claim", access: anyone,
		summary: "Claim an asset for a task.",
		handler: handle(postClaim),
		answers: map[int][]any{
			http.StatusCreated: {client.ClaimResponse{}},
			http.StatusOK:      {client.ClaimResponse{}},
		},
		refusals: codes{client.InvalidAsset, client.InvalidTask, client.UnknownFlow, client.Forbidden, client.FlowMismatch, client.TicketDamaged, client.LockHeld, client.TooManyClaims, client.ClaimLost, client.StoreUnavailable, client.ReplicasMissing, client.Draining},
	},
	{
		method: "GET", path: "/v1/claims", id: "listClaims", access: anyone, list: true,
		summary: "List the caller's held claims, for root everybody's.",
		handler: handle(listClaims),
		answers: answers200(client.ClaimList{}),
	},
	{
		method: "GET", path: "/v1/claims/{id}", id: "getClaim", access: ownerOnly, free: true,
		summary:  "Read a claim, or with wait watch it.",
		handler:  handle(getClaim),
		answers:  answers200(client.ClaimBody{}),
		refusals: codes{client.Draining},
	},
	{
		method: "DELETE", path: "/v1/claims/{id}", id: "release", access: forced,
		summary:  "Release a claim and leave its ticket as it is. With force, an admin ends another's.",
		handler:  handle(deleteClaim),
		answers:  map[int][]any{http.StatusNoContent: nil},
		refusals: codes{client.ClaimLost, client.StaleToken, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/heartbeat", id: "heartbeat", access: ownerOnly, free: true, reads: true,
		summary:  "Give a sign of life.",
		handler:  handle(postHeartbeat),
		answers:  answers200(client.ClaimBody{}),
		refusals: codes{client.ClaimLost},
	},
	{
		method: "POST", path: "/v1/claims/{id}/steps", id: "step", access: ownerOnly,
		summary:  "Record a step's result, once.",
		handler:  handle(postStep),
		answers:  answers200(client.StepResponse{}),
		refusals: codes{client.UnknownStep, client.StepConflict, client.TicketDamaged, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/failures", id: "fail", access: ownerOnly,
		summary:  "Record that a step failed.",
		handler:  handle(postFailure),
		answers:  answers200(client.FailureResponse{}),
		refusals: codes{client.UnknownStep, client.TicketDamaged, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/notification", id: "notify", access: ownerOnly,
		summary: "Have people told.",
		handler: handle(postNotification),
		answers: map[int][]any{
			http.StatusAccepted: {client.NotificationResponse{}},
			http.StatusOK:       {client.NotificationResponse{}},
		},
		refusals: codes{client.UnknownChannel, client.ContentConflict, client.TicketDamaged, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable, client.ReplicasMissing, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/claims/{id}/finish", id: "finish", access: ownerOnly,
		summary:  "Finish the ticket and release the claim.",
		handler:  handle(postFinish),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketDamaged, client.IllegalTransition, client.StaleToken, client.ClaimLost, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets", id: "listTickets", access: anyone,
		summary:  "List tickets, the one written last first.",
		handler:  handle(listTickets),
		answers:  answers200(client.TicketList{}),
		refusals: codes{client.InvalidAsset, client.InvalidTask, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/tickets/states", id: "ticketStates", access: anyone, reads: true,
		summary:  "Read the states of up to 1,000 tickets.",
		handler:  handle(postStates),
		answers:  answers200(client.StatesResponse{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "PUT", path: "/v1/tasks/{task}/lists/{digest}", id: "noteList", access: anyone, reads: true,
		summary:  "Note that a list of assets is worked on under a task.",
		handler:  handle(putList),
		answers:  answers200(client.ListsResponse{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "PUT", path: "/v1/tasks/{task}/reports/{report}", id: "noteReport", access: anyone, reads: true,
		summary:  "Note that a run works on a list under a task, or has, of which a report is to tell.",
		handler:  handle(putReport),
		answers:  answers200(client.ReportResponse{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "PUT", path: "/v1/lists/{digest}/parts/{part}", id: "putPart", access: anyone, reads: true,
		summary:  "Keep a part of a list of assets, for reports.",
		handler:  handle(putPart),
		answers:  map[int][]any{http.StatusNoContent: nil},
		refusals: codes{client.InvalidAsset, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/lists/{digest}/parts/{part}", id: "getPart", access: anyone,
		summary:  "Read a part of a list of assets that is kept for reports.",
		handler:  handle(getPart),
		answers:  answers200(client.ListPart{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/tasks/{task}/chunks", id: "readChunk", access: anyone, reads: true,
		summary:  "Read which assets of a part of a list are not done yet under a task.",
		handler:  handle(postChunk),
		answers:  answers200(client.ChunkResponse{}),
		refusals: codes{client.InvalidAsset, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets/{asset}/{task}", id: "getTicket", access: anyone,
		summary:  "Read a ticket, without a lock.",
		handler:  handle(getTicket),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tickets/{asset}/{task}/history", id: "getHistory", access: anyone,
		summary:  "Read what was written to a ticket, and what was refused.",
		handler:  handle(getHistory),
		answers:  answers200(client.History{}),
		refusals: codes{client.TicketNotFound, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tasks", id: "listTasks", access: anyone,
		summary:  "List tasks, the one written to last first, with how far they are over all hosts.",
		handler:  handle(listTasks),
		answers:  answers200(client.TaskList{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/tasks/{task}", id: "getTask", access: anyone,
		summary:  "Read how far a task is, over all hosts.",
		handler:  handle(getTask),
		answers:  answers200(client.TaskBody{}),
		refusals: codes{client.TaskNotFound, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/tickets/{asset}/{task}/reopen", id: "reopen", access: adminOnly,
		summary:  "Begin a new run of a ticket that is finished, failed, or damaged.",
		handler:  handle(postReopen),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/locks/{asset}/break", id: "breakLock", access: adminOnly,
		summary:  "Fence an asset's holder off, on whatever host, and free its lock.",
		handler:  handle(postBreak),
		answers:  map[int][]any{http.StatusNoContent: nil},
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/outbox", id: "listIntents", access: anyone, list: true,
		summary:  "List the intents in this host's outbox.",
		handler:  handle(listIntents),
		answers:  answers200(client.IntentList{}),
		refusals: codes{client.OutboxUnavailable},
	},
	{
		method: "GET", path: "/v1/outbox/{asset}/{task}", id: "getIntents", access: anyone,
		summary:  "Read a ticket's intents in this host's outbox.",
		handler:  handle(getIntents),
		answers:  answers200(client.IntentList{}),
		refusals: codes{client.IntentNotFound, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/retry", id: "retry", access: adminOnly,
		summary:  "Send once more on channels that are dead, parked or unknown, from this host.",
		handler:  handle(postResolution(Engine.Retry)),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable, client.ReplicasMissing, client.OutboxUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/discard", id: "discard", access: adminOnly,
		summary:  "Give channels of a notification up, on every host.",
		handler:  handle(postResolution(Engine.Discard)),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/outbox/{asset}/{task}/settle", id: "settle", access: adminOnly,
		summary:  "Record that a notification did arrive on channels whose outcome is unknown.",
		handler:  handle(postResolution(Engine.Settle)),
		answers:  answers200(client.TicketBody{}),
		refusals: codes{client.TicketNotFound, client.UnknownChannel, client.IllegalTransition, client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/channels/{name}/test", id: "testChannel", access: adminOnly,
		summary:  "Send a harmless message on a channel of this daemon, once, and say what came back.",
		handler:  handle(postTest),
		answers:  answers200(client.ChannelTest{}),
		refusals: codes{client.UnknownChannel},
	},
	{
		method: "GET", path: "/v1/hosts", id: "listHosts", access: anyone,
		summary:  "List the daemons of the fleet, and how they differ.",
		handler:  handle(listHosts),
		answers:  answers200(client.HostList{}),
		refusals: codes{client.StoreUnavailable},
	},
	{
		method: "POST", path: "/v1/hosts/{host}/retire", id: "retire", access: adminOnly,
		summary:  "Have a host leave that is gone for good: what it answered for is taken over, or offered to the others.",
		handler:  handle(postRetire),
		answers:  answers200(client.RetireResponse{}),
		refusals: codes{client.HostNotFound, client.HostAlive, client.StoreUnavailable},
	},
	{
		method: "GET", path: "/v1/status", id: "status", access: anyone, list: true,
		summary: "Read what this daemon is and does.",
		handler: handle(getStatus),
		answers: answers200(client.Status{}),
	},
	{
		method: "GET", path: "/v1/openapi.json", id: "openapi", access: anyone,
		summary: "Read this document.",
		handler: handle(getDocument),
		answers: answers200(mediaType("application/json")),
	},
	{
		method: "GET", path: "/livez", id: "livez", access: anyone, free: true,
		summary: "Is the daemon alive? It never asks Redis.",
		handler: handle(getLive),
		answers: answers200(mediaType("text/plain")),
	},
	{
		method: "GET", path: "/readyz", id: "readyz", access: anyone, list: true,
		summary: "Can the daemon serve? With verbose, check by check.",
		handler: handle(getReady),
		answers: map[int][]any{
			http.StatusOK:                 {mediaType("text/plain"), client.Readiness{}},
			http.StatusServiceUnavailable: {mediaType("text/plain"), client.Readiness{}},
		},
	},
	{
		method: "GET", path: "/metrics", id: "metrics", access: anyone, list: true,
		summary: "Read the metrics, in the form of Prometheus.",
		handler: handle(getMetrics),
		answers: answers200(mediaType("text/plain")),
	},
}
