// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// ServeHTTP finds a request's route, runs it, and writes what comes of it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	peer, _ := r.Context().Value(peerKey{}).(engine.Peer)
	c := &call{api: &s.config, serving: s.serving, request: r, control: http.NewResponseController(w), peer: peer}
	if c.conn, _ = r.Context().Value(connKey{}).(*conn); c.conn != nil {
		defer c.conn.end()
	}
	c.awaitBody(start)
	route, params, err := s.router.find(r, w.Header())
	name := "none"
	c.params = params
	var caller *audit.Caller
	if route != nil && route.writes() {
		caller = audit.NewCaller(c.by(), route.id)
		c.request = r.WithContext(caller.Context(r.Context()))
	}
	var a answer
	if err == nil {
		name = route.path
		a, err = s.run(route, c)
	}
	if c.conn != nil {
		c.conn.dropBody()
	}
	c.leaveBody(w)
	code, streamed := statusLeft, false
	if err == nil && a.stream != nil {
		streamed, err = stream(w, a)
	}
	switch {
	case streamed && err == nil:
		code = a.status
	case streamed: // it ends without an end, which no client takes for one
		s.metrics.observe(name, r.Method, code, time.Since(start))
		panic(http.ErrAbortHandler)
	case err == nil:
		code = s.writer.write(w, r, a)
	case !callerLeft(r.Context(), err):
		p := s.problem(r, name, err)
		if caller != nil && !caller.Recorded() {
			c.refused(route, p)
		}
		code = s.writer.problem(w, p)
	}
	s.metrics.observe(name, r.Method, code, time.Since(start))
}

// statusLeft stands in the metrics for a call whose caller left before there was an answer. Nothing is sent.
const statusLeft = 499

// run runs a handler. One that panics fails for its caller alone.
func (s *Server) run(route *route, c *call) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("a handler panicked", "route", route.path, "panic", p, "stack", string(debug.Stack()))
			err = problem(client.Internal, "the daemon failed at this; its log says why")
		}
	}()
	if route.access.needsAdmin(c.request) && !c.isAdmin() {
		return answer{}, errNotAdmin
	}
	c.free, c.list = route.free, route.list
	return route.run(c)
}

// problem is what a call is answered with that failed.
func (s *Server) problem(r *http.Request, route string, err error) *client.Problem {
	in := "body"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		in = "query"
	}
	p := problemOf(err, in)
	if p.Code == client.Internal {
		s.config.Logger.Error("cannot answer a call", "route", route, "method", r.Method, "error", err)
	}
	return p
}

// noInput is the type of a query or a body that a call does not take; emptyBody that of a body without fields, which may be left
// out.
type (
	noInput   struct{}
	emptyBody struct{}
)

// handler is a call's function behind the decoding of its query and its body.
type handler struct {
	query, body         reflect.Type
	queryFields, fields []field
	run                 func(*call) (answer, error)
}

// handle makes a handler of a function that takes a query Q and a body B.
func handle[Q, B any](f func(*call, Q, B) (answer, error)) handler {
	h := handler{query: reflect.TypeFor[Q](), body: reflect.TypeFor[B]()}
	h.queryFields, h.fields = fieldsOf(h.query), fieldsOf(h.body)
	h.run = func(c *call) (answer, error) {
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
		if c.list {
			if err := Weigh(c.request.Context(), listWeight); err != nil {
				return answer{}, err
			}
		}
		return f(c, q, b)
	}
	return h
}

func (h handler) takesBody() bool { return h.body != reflect.TypeFor[noInput]() }

// mayBeEmpty reports whether the body may be left out, as none of its fields is required.
func (h handler) mayBeEmpty() bool {
	for _, f := range h.fields {
		if f.required {
			return false
		}
	}
	return true
}
