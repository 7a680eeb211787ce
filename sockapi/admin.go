// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// isAdmin reports whether a peer may make admin calls: root, and members of the admin group, of this host's namespaces.
func (s *Server) isAdmin(p engine.Peer) bool {
	if p.Foreign {
		return false
	}
	return p.UID == 0 || s.adminGID != nil && slices.Contains(p.Groups, *s.adminGID)
}

// by names an administrator in histories: pid/uid, as agents are.
func (c *call) by() string { return fmt.Sprintf("%d/%d", c.peer.PID, c.peer.UID) }

func breakLock(s *Server, c *call, _ none, b client.ReasonRequest) (answer, error) {
	return answer{status: http.StatusNoContent}, s.engine.Break(c.request.Context(), c.ticket.Asset, c.by(), b.Reason)
}

func reopen(s *Server, c *call, _ none, b client.ReasonRequest) (answer, error) {
	t, err := s.engine.Reopen(c.request.Context(), c.ticket, c.by(), b.Reason)
	return ticketAnswer(t, err)
}

// resolve makes the handler of what an administrator says about a notification.
func resolve(do func(Engine, context.Context, engine.Resolution) (engine.Ticket, error)) func(*Server, *call, none, client.ResolveRequest) (answer, error) {
	return func(s *Server, c *call, _ none, b client.ResolveRequest) (answer, error) {
		c.told.Channel = b.Channel
		return ticketAnswer(do(s.engine, c.request.Context(), engine.Resolution{
			Ticket: c.ticket, Channel: b.Channel, By: c.by(), Reason: b.Reason,
		}))
	}
}

// forceQuery is the query of DELETE /v1/claims/{id}.
type forceQuery struct {
	Force string `json:"force,omitempty" enum:"true,false" doc:"For administrators: end it though it is another's."`
}

func release(s *Server, c *call, q forceQuery, _ none) (answer, error) {
	done := answer{status: http.StatusNoContent}
	switch {
	case q.Force != "true":
		return done, s.engine.Release(c.request.Context(), c.id, c.peer.Owner())
	case !s.isAdmin(c.peer):
		return answer{}, errNotAdmin
	}
	return done, s.engine.Force(c.request.Context(), c.id, c.by())
}

var errNotAdmin = problem(client.Forbidden, "only root and members of the admin group may do this")
