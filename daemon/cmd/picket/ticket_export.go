// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

// exported is a line of ticket export.
type exported struct {
	Ticket  client.Ticket  `json:"ticket"`
	History client.History `json:"history"`
}

const (
	exportSlack  = time.Minute // by which the clock of this host and that of Redis may differ
	exportPasses = 5           // each goes through what was written in the one before, so they get shorter
)

// ticketExport goes through the pages, and then through what was written meanwhile, which may have moved from a later page to one before:
// until nothing was. A ticket that changes is written again.
func ticketExport(c *cli.Context) error {
	q, err := ticketQuery(c)
	if err != nil {
		return err
	}
	q.Limit = maxPage
	written := map[string]int64{} // the revisions of what was written to lately
	for pass := 1; pass <= exportPasses; pass++ {
		since := time.Now().Add(-exportSlack)
		n, err := exportPass(c, q, since, written)
		if err != nil || pass > 1 && n == 0 {
			return err
		}
		if q.Since.Before(since) {
			q.Since = since
		}
	}
	fmt.Fprintln(c.App.ErrWriter, "Tickets are written to all the time: of those that were meanwhile, some may be missing. Export once more with --since.")
	return nil
}

// exportPass writes the tickets that are selected, but for those that were written before as they are. It returns how many.
func exportPass(c *cli.Context, q client.TicketQuery, since time.Time, written map[string]int64) (n int, err error) {
	cl := connect(c)
	for {
		page, err := cl.Tickets(c.Context, q)
		if err != nil {
			return n, err
		}
		warnIncomplete(c, page.Incomplete)
		for _, t := range page.Tickets {
			if written[t.ID] == t.Revision {
				continue
			}
			var line exported
			line.Ticket, err = cl.Ticket(c.Context, t.Asset, t.Task) // listings leave facts out
			if err == nil {
				line.History, err = cl.History(c.Context, t.Asset, t.Task)
			}
			if notFound(err) {
				continue // its time ran out in between
			}
			if err != nil {
				return n, err
			}
			if err := printJSON(c.App.Writer, line); err != nil {
				return n, err
			}
			if n++; line.Ticket.UpdatedAt.After(since) {
				written[t.ID] = line.Ticket.Revision
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return n, nil
		}
	}
}
