// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

func ticketLs(c *cli.Context) error {
	limit := c.Int("limit")
	if limit < 1 || limit > maxPage {
		return usagef(c, "--limit takes 1 to %d", maxPage)
	}
	q, err := ticketQuery(c)
	if err != nil {
		return err
	}
	q.Limit, q.Cursor = limit, client.Cursor(c.String("cursor"))
	return listTickets(c, q)
}

// ticketQuery is what the flags select.
func ticketQuery(c *cli.Context) (q client.TicketQuery, err error) {
	if c.IsSet("since") {
		if q.Since, err = parseSince(c.String("since"), time.Now()); err != nil {
			return q, usagef(c, "--since takes %s", strings.ReplaceAll(sinceForms, "`", ""))
		}
	}
	q.Asset, q.Task, q.State, q.Host = c.String("asset"), c.String("task"), c.String("state"), c.String("host")
	q.Exact, q.Damaged, q.HighRisk, q.Failed, q.Held, q.Stuck = c.Bool("exact"), c.Bool("damaged"), c.Bool("high-risk"), c.Bool("failed"), c.Bool("held"), c.Bool("stuck")
	return q, nil
}

func listTickets(c *cli.Context, q client.TicketQuery) error {
	r, err := connect(c).Tickets(c.Context, q)
	return answer(c, r, err, func(w io.Writer) {
		warnIncomplete(c, r.Incomplete)
		t := table{{"TICKET", "STATE", "HOLDER", "UPDATED", "SUMMARY"}}
		for _, k := range r.Tickets {
			holder := "-"
			if k.Holder != nil {
				holder = k.Holder.Host
			}
			t.row(k.ID, k.State, holder, clock(k.UpdatedAt), verdict.LastWord(k))
		}
		t.print(w)
		tellMore(c, r.Cursor)
	})
}

// tellMore says where a listing goes on.
func tellMore(c *cli.Context, next client.Cursor) {
	if next != "" {
		fmt.Fprintf(c.App.ErrWriter, "There are more: --cursor %s\n", clean(string(next)))
	}
}

// warnIncomplete says that a listing may lack something.
func warnIncomplete(c *cli.Context, incomplete bool) {
	if incomplete {
		fmt.Fprintln(c.App.ErrWriter, "Tickets may be missing: Redis lost data, and the daemons have not gone through all tickets since; or it takes no writes, or has no ticket where one should be (the daemon's log tells).")
	}
}

// damage says what a ticket lacks, and what mends it.
func damage(t client.Ticket) string {
	return t.Damaged + "; picket ticket reopen begins it anew"
}
