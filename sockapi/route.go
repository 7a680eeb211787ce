// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/picketd/picket/sockapi/client"
)

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

// writes reports whether a call is one of those that the audit has a record of, be they accepted or refused. A heartbeat writes
// nothing.
func (r *route) writes() bool { return r.method != http.MethodGet && r.id != "heartbeat" }
