// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

func claimCommand() *cli.Command {
	return &cli.Command{
		Name:  "claim",
		Usage: "claims on this host",
		Subcommands: []*cli.Command{
			{
				Name:   "ls",
				Usage:  "list your claims, or everybody's for root",
				Flags:  jsonFlags(),
				Action: claimLs,
			},
			{
				Name:      "release",
				Usage:     "end a claim; its ticket stays as it is",
				ArgsUsage: "ID",
				Flags:     clientFlags(&cli.BoolFlag{Name: "force", Usage: "another's too, who is told; for administrators"}),
				Action:    claimRelease,
			},
		},
	}
}

func claimLs(c *cli.Context) error {
	r, err := connect(c).Claims(c.Context)
	return answer(c, r, err, func(w io.Writer) {
		t := table{{"TICKET", "TRUSTED", "PID", "UID", "SINCE"}}
		for _, cl := range r.Claims {
			pid := "-"
			if cl.PID != nil {
				pid = strconv.Itoa(*cl.PID)
			}
			t.row(cl.Ticket, millis(cl.TrustedMS), pid, strconv.FormatUint(uint64(cl.UID), 10), clock(cl.Since))
			t.note("claim " + cl.ID)
		}
		t.print(w)
	})
}

func claimRelease(c *cli.Context) error {
	id, release := arguments(c)[0], connect(c).Release
	if c.Bool("force") {
		release = connect(c).Force
	}
	return done(c, nil, release(c.Context, id), "the claim %s has ended", id)
}

func heartbeatCommand() *cli.Command {
	return &cli.Command{
		Name:  "heartbeat",
		Usage: "give a sign of life for a claim that promised them",
		Flags: claimFlags(),
		Action: func(c *cli.Context) error {
			r, err := connect(c).Heartbeat(c.Context, c.String("claim"))
			return done(c, client.ClaimBody{Claim: r}, err, "%s is held", r.Ticket)
		},
	}
}

func finishCommand() *cli.Command {
	return &cli.Command{
		Name:  "finish",
		Usage: "finish the claim's ticket and release the claim",
		Flags: claimFlags(&cli.StringFlag{Name: "summary", Usage: "a line for people, `TEXT`"}),
		Action: func(c *cli.Context) error {
			t, err := connect(c).Finish(c.Context, c.String("claim"), c.String("summary"))
			return done(c, client.TicketBody{Ticket: t}, err, "%s is %s", t.ID, t.State)
		},
	}
}
