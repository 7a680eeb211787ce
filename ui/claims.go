// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import "github.com/picketd/picket/sockapi/client"

type claims struct {
	client.TicketList                // held over all hosts
	Next              string         // the address of the next page, or empty
	Claims            []client.Claim // of this host that the user may see
	More              int            // of those, how many are not shown
}

func claimsPage(v *visit) (any, error) {
	held, err := v.Tickets(v, client.TicketQuery{Held: true, Limit: ticketsShown, Cursor: client.Cursor(v.query.Get("cursor"))})
	if err != nil {
		return nil, err
	}
	own, err := v.Claims(v)
	if err != nil {
		return nil, err
	}
	c := claims{TicketList: held, Claims: own.Claims[:min(len(own.Claims), ticketsShown)]}
	c.More = len(own.Claims) - len(c.Claims)
	if held.Cursor != "" {
		c.Next = link("/claims", "cursor", string(held.Cursor))
	}
	return c, nil
}
