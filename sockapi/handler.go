// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import "reflect"

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
