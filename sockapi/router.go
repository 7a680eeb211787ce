// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/audit"
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
	path := cmp.Or(req.URL.RawPath, req.URL.EscapedPath()) // as it was sent, also where that differs from the usual encoding
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
	case "{digest}":
		if p.digest = value; !digestForm.MatchString(value) {
			wrong.add("path.digest", digestRule)
		}
	case "{part}":
		if p.part, err = strconv.Atoi(value); err != nil || p.part < 0 || p.part > partsMost || value != strconv.Itoa(p.part) {
			wrong.add("path.part", fmt.Sprintf("must be 0 to %d", partsMost))
		}
	case "{report}":
		if p.ticket.Asset, err = store.ReportAsset(value); err != nil {
			wrong.add("path.report", reportRule)
		}
	case "{host}":
		p.host = value
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

// access says who may make a call, of those whom the socket's mode and group let in.
type access string

const (
	anyone    access = "anyone"
	ownerOnly access = "owner" // the uid that made the claim, and root: the engine decides it with the call
	adminOnly access = "admin" // root, and members of the admin group
	forced    access = "owner, or with force admin"
)

// forceWord is the value of the query's force that asks for it.
const forceWord = "true"

// needsAdmin reports whether a request may be made by an admin only.
func (a access) needsAdmin(r *http.Request) bool {
	return a == adminOnly || a == forced && r.URL.Query().Get("force") == forceWord
}

// route is one call: what it takes, what it answers, who may make it.
type route struct {
	method  string
	path    string
	id      string
	summary string
	access  access
	handler
	free     bool          // it asks nobody, and needs no turn
	list     bool          // how long its answer is shows only when it is made: see listWeight
	reads    bool          // it writes nothing, though it is no GET
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
	case ownerOnly, forced:
		all = append(all, client.ClaimNotFound, client.Forbidden)
	case adminOnly:
		all = append(all, client.Forbidden)
	}
	all = append(all, r.refusals...)
	slices.Sort(all)
	return slices.Compact(all)
}

// mediaType stands in the table for an answer that has no Go type.
type mediaType string

func answers200(body any) map[int][]any { return map[int][]any{http.StatusOK: {body}} }

// writes reports whether a call is one of those that the audit has a record of, be they accepted or refused.
func (r *route) writes() bool { return r.method != http.MethodGet && !r.reads }

// refused records a write that was refused, whoever refused it: Redis, the engine, or this package before anyone was asked. What
// was accepted the engine records.
func (c *call) refused(r *route, p *client.Problem) {
	a := c.told
	a.Kind, a.Call, a.Code, a.Agent, a.Reason = audit.Refused, r.id, string(p.Code), c.by(), p.Detail
	a.From = p.State
	if p.Reason != "" {
		a.Reason = p.Reason
	}
	if a.Asset == "" {
		a.Asset, a.Task = string(c.ticket.Asset), c.ticket.Task
	}
	a.Channel = cmp.Or(a.Channel, c.channel)
	if c.id != "" { // whose claim it is does not matter here
		if claim, err := c.api.Engine.GetClaim(c.id, 0); err == nil {
			a.Asset, a.Task, a.Token = string(claim.Ticket.Asset), claim.Ticket.Task, claim.Token
		}
	}
	c.api.Audit(a)
}
