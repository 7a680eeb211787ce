// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/sockapi/client"
)

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
	if a.Channel == "" {
		a.Channel = c.channel
	}
	if c.id != "" { // whose claim it is does not matter here
		if claim, err := c.api.Engine.GetClaim(c.id, 0); err == nil {
			a.Asset, a.Task, a.Token = string(claim.Ticket.Asset), claim.Ticket.Task, claim.Token
		}
	}
	c.api.Audit(a)
}
