// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// router finds a path's calls. It stands in for http.ServeMux, which cleans paths and redirects to what it made of them: here
// a path is matched as it was sent, segment by segment, and each is decoded by itself, so that an asset may have a slash.
type router []resource

// resource is a path with its routes by method.
type resource struct {
	segments []string
	methods  map[string]*route
	allow    string
}

// newRouter lays out a table. Literal segments go before parameters.
func newRouter(table []route) router {
	var r router
	for i := range table {
		one := &table[i]
		segments := strings.Split(one.path, "/")[1:]
		at := slices.IndexFunc(r, func(res resource) bool { return slices.Equal(res.segments, segments) })
		if at < 0 {
			at = len(r)
			r = append(r, resource{segments: segments, methods: make(map[string]*route)})
		}
		r[at].methods[one.method] = one
		if one.method == http.MethodGet {
			r[at].methods[http.MethodHead] = one
		}
	}
	for i := range r {
		var methods []string
		for m := range r[i].methods {
			methods = append(methods, m)
		}
		slices.Sort(methods)
		r[i].allow = strings.Join(methods, ", ")
	}
	return r
}

// find returns the route of a request and the values of its path's parameters; with an error, the route that was meant, or nil. The header Allow goes with
// METHOD_NOT_ALLOWED.
func (r router) find(req *http.Request, header http.Header) (*route, params, error) {
	path := req.URL.RawPath // as it was sent, where that differs from the usual encoding
	if path == "" {
		path = req.URL.EscapedPath()
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		if s == "." || s == ".." || s == "" && i < len(segments)-1 {
			return nil, params{}, problem(client.NotFound, "the path has an empty segment, or . or .. as one; it is not cleaned: send the path that is meant, with %2F for a slash inside a segment")
		}
	}
	for _, res := range r {
		p, ok, err := res.match(segments)
		found := res.methods[req.Method]
		switch {
		case err != nil:
			return found, p, err
		case !ok:
			continue
		case found != nil:
			return found, p, nil
		}
		header.Set("Allow", res.allow)
		return nil, params{}, problem(client.MethodNotAllowed, "this path takes "+res.allow)
	}
	return nil, params{}, problem(client.NotFound, "there is nothing at this path; GET /v1/openapi.json lists the calls")
}

// match compares a path with a resource's. An error is a parameter that cannot be right.
func (res resource) match(segments []string) (p params, ok bool, err error) {
	if len(segments) != len(res.segments) {
		return params{}, false, nil
	}
	for i, want := range res.segments {
		if !strings.HasPrefix(want, "{") && want != segments[i] {
			return params{}, false, nil
		}
	}
	for i, want := range res.segments {
		if !strings.HasPrefix(want, "{") {
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil {
			return p, false, problem(client.BadRequest, "the path has a % without two hexadecimal digits; a percent sign is %25")
		}
		if err := p.set(want, value); err != nil {
			return p, false, err
		}
	}
	return p, true, nil
}

func (p *params) set(name, value string) (err error) {
	var wrong violations
	switch name {
	case "{asset}":
		if p.ticket.Asset, err = store.ParseAsset(value); err != nil {
			wrong.addCode(client.InvalidAsset, "path.asset", assetRule)
		}
	case "{task}":
		if p.ticket.Task, err = store.ParseTask(value); err != nil {
			wrong.addCode(client.InvalidTask, "path.task", taskRule)
		}
	case "{id}":
		p.id = value
	case "{name}":
		p.channel = value
	default:
		panic(fmt.Sprintf("sockapi: no rule for the path's parameter %s", name))
	}
	if len(wrong) > 0 {
		return wrong.problem()
	}
	return nil
}
