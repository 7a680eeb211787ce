// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package sockapi serves the engine to the agents of this host: JSON over HTTP/1.1 on a Unix socket.
//
// A request passes these stations, in this order, and is answered with a problem at the first that refuses it:
//
//	listen_linux.go  the socket, bound where nobody can reach it before it has its mode and group
//	peer_linux.go    who calls: uid, pid and pidfd from the kernel, once per connection, never from the request
//	conn.go          one connection: its peer, its deadlines, what its call holds
//	conns.go         who may connect at all: how fast, and how many, in all and of one user
//	serve.go         one request from its route to its answer: query, body, turn, handler; server.go has the start and the end of all
//	router.go        the path as it was sent: no cleaning, no redirects, each segment decoded by itself
//	routes.go        the table of all calls; router.go says what stands in a row
//	call.go          the body, as it arrives: its time, and the bytes that bodies hold, in all and of one user
//	rawbody.go       the body's bytes: size, UTF-8, one JSON object, no name twice, depth
//	decode.go        the body's fields and the query's: known (fields.go), of the right type, within their limits (checks.go)
//	budget.go        the call's turn: how many calls are at work at once, how many a user makes in a second
//	claims.go, …     the handlers, which call the engine and return a value or an error
//	problems.go      the one place where an error becomes an answer
//
// Go's JSON decoders forgive what a safety record cannot: a name in another case, a name twice, bytes that are not UTF-8.
// That is why the pass over the raw body comes before them. The tags on the requests in package client are both what is
// checked and what the OpenAPI document says, so the two cannot drift.
//
// The package has more than 3,000 lines and stays in one piece: each stage hands the call on to the next, with what only it may set,
// and none makes sense without the others.
//
// Problems never repeat a value of a body, which may be a secret that was put into the wrong field. A name is repeated only
// if it is short and plain.
//
// A call that ends because its caller left ends its work too, as handlers run on the request's context. Only the engine's
// release runs on its own.
package sockapi
