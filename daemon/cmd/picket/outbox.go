// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

func outboxCommand() *cli.Command {
	return &cli.Command{
		Name:  "outbox",
		Usage: "notifications on their way from this host",
		Subcommands: []*cli.Command{
			{
				Name:  "ls",
				Usage: "list the intents that are not closed, and those that wait for a person",
				Flags: jsonFlags(&cli.StringFlag{Name: "status", Usage: "only those that are in a `STATUS`, or have a channel in it: staged, committed, adopted, " +
					"closed; pending, sending, sent, unknown, parked, dead, discarded"}),
				Action: func(c *cli.Context) error {
					r, err := connect(c).Outbox(c.Context, c.String("status"))
					if r.More && !c.Bool("json") {
						fmt.Fprintln(c.App.ErrWriter, "There are more; these are the oldest.")
					}
					return answer(c, r, err, func(w io.Writer) { intentTable(r.Intents).print(w) })
				},
			},
			{
				Name:      "show",
				Usage:     "show the intents of a ticket",
				ArgsUsage: "ASSET TASK",
				Flags:     jsonFlags(),
				Action: func(c *cli.Context) error {
					asset, task := ticketOf(c)
					r, err := connect(c).OutboxTicket(c.Context, asset, task)
					return answer(c, r, err, func(w io.Writer) {
						intentTable(r.Intents).print(w)
						for _, in := range r.Intents {
							if n := in.Notification; n != nil {
								fmt.Fprintf(w, "\n%s: %s\n%s\n", n.Severity, plain.Line(n.Title, 256), plain.Text(n.Text))
							}
						}
					})
				},
			},
			decision("retry", "send once more, from this host, on channels that are dead, parked or unknown; for administrators",
				(*client.Client).Retry, "is sent once more"),
			decision("discard", "give channels of a notification up, on every host; for administrators",
				(*client.Client).Discard, "is given up"),
			decision("settle", "record that a notification did arrive on channels whose outcome is unknown; for administrators",
				(*client.Client).Settle, "did arrive"),
		},
	}
}

// decide is one of the client's calls with which an administrator decides about a notification.
type decide func(c *client.Client, ctx context.Context, asset, task, channel, reason string) (client.Ticket, error)

func decision(name, usage string, call decide, past string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ASSET TASK",
		Flags: jsonFlags(reasonFlag(), &cli.StringFlag{Name: "channel", Usage: "`NAME` of one channel; without it all that are in question"}),
		Action: func(c *cli.Context) error {
			asset, task := ticketOf(c)
			t, err := call(connect(c), c.Context, asset, task, c.String("channel"), c.String("reason"))
			return done(c, client.TicketBody{Ticket: t}, err, "the notification for %s %s", t.ID, past)
		},
	}
}

// intentTable has a row for each channel of each intent.
func intentTable(intents []client.Intent) table {
	t := table{{"TICKET", "CHANNEL", "STATUS", "ATTEMPTS", "DUE"}}
	for _, in := range intents {
		ticket := in.Ticket
		if in.Run > 1 {
			ticket += fmt.Sprintf(" (run %d)", in.Run)
		}
		for _, name := range slices.Sorted(maps.Keys(in.Channels)) {
			d := in.Channels[name]
			t.row(ticket, name, d.Status, strconv.Itoa(d.Attempts), clockOr(d.Due, "-"))
			note := in.Status + " " + clock(in.CreatedAt)
			if d.Error != "" {
				note += ": " + d.Error
			}
			t.note(note)
		}
	}
	return t
}
