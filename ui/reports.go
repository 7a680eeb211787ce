// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import "github.com/picketd/picket/sockapi/client"

// reportsPage lists the newest reports: those of a list are tickets of an asset list:NAME.
func reportsPage(v *visit) (any, error) {
	return v.Tickets(v, client.TicketQuery{Asset: "list:*", Limit: ticketsShown, Cursor: client.Cursor(v.query.Get("cursor"))})
}
