// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"strings"

	"github.com/picketd/picket/sockapi/client"
)

// reportPrefix is what the assets begin with whose tickets are reports.
const reportPrefix = "list:"

type reports struct {
	client.TicketList
	Next string // the address of the next page, or empty
}

// reportsPage lists the reports of all lists, the newest first.
func reportsPage(v *visit) (any, error) {
	list, err := v.Tickets(v, client.TicketQuery{Asset: reportPrefix + "*", Limit: ticketsShown, Cursor: client.Cursor(v.query.Get("cursor"))})
	if err != nil {
		return nil, err
	}
	r := reports{TicketList: list}
	if list.Cursor != "" {
		r.Next = link("/reports", "cursor", string(list.Cursor))
	}
	return r, nil
}

// ListOf is the name of the list that a ticket is the report of.
func (reports) ListOf(t client.Ticket) string { return strings.TrimPrefix(t.Asset, reportPrefix) }

// Made says whether a report can be read: it was gathered.
func (reports) Made(t client.Ticket) bool {
	_, gathered := t.Steps[client.StepGather]
	return gathered
}
