// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"context"
	"net/http"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

func postBreak(c *call, _ noInput, b client.ReasonRequest) (answer, error) {
	return answer{status: http.StatusNoContent}, c.api.Engine.Break(c.request.Context(), c.ticket.Asset, c.by(), b.Reason)
}

func postReopen(c *call, _ noInput, b client.ReasonRequest) (answer, error) {
	t, err := c.api.Engine.Reopen(c.request.Context(), c.ticket, c.by(), b.Reason)
	return ticketAnswer(t, err)
}

// postResolution makes the handler of what an administrator says about a notification.
func postResolution(do func(Engine, context.Context, delivery.Resolution) (store.Ticket, error)) func(*call, noInput, client.ResolveRequest) (answer, error) {
	return func(c *call, _ noInput, b client.ResolveRequest) (answer, error) {
		c.told.Channel = b.Channel
		return ticketAnswer(do(c.api.Engine, c.request.Context(), delivery.Resolution{
			Ticket: c.ticket, Channel: b.Channel, By: c.by(), Reason: b.Reason,
		}))
	}
}

// forceQuery is the query of DELETE /v1/claims/{id}.
type forceQuery struct {
	Force string `json:"force,omitempty" enum:"true,false" doc:"For administrators: end it though it is another's."`
}

func deleteClaim(c *call, q forceQuery, _ noInput) (answer, error) {
	done := answer{status: http.StatusNoContent}
	if q.Force == forceWord {
		return done, c.api.Engine.Force(c.request.Context(), c.id, c.by())
	}
	return done, c.api.Engine.Release(c.request.Context(), c.id, c.peer.Owner())
}

func postTest(c *call, _ noInput, b client.ChannelTestRequest) (answer, error) {
	severity := cmp.Or(b.Severity, client.SeverityInfo)
	c.api.Logger.Info("an administrator tests a channel", "channel", c.channel, "severity", severity, "by", c.by())
	t, err := c.api.TestChannel(c.request.Context(), c.channel, severity)
	if err == nil {
		c.api.Audit(audit.Event{Kind: audit.Tested, Channel: c.channel, Call: "testChannel", Agent: c.by(), Reason: t.Status})
	}
	return answer{status: http.StatusOK, body: &t}, err
}
