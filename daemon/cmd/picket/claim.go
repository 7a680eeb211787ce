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
	if _, err := positionals(c, 0); err != nil {
		return err
	}
	r, err := connect(c).Claims(c.Context)
	if err != nil {
		return err
	}
	return answer(c, r, func(w io.Writer) {
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
	args, err := positionals(c, 1)
	if err != nil {
		return err
	}
	release := connect(c).Release
	if c.Bool("force") {
		release = connect(c).Force
	}
	if err := release(c.Context, args[0]); err != nil {
		return err
	}
	return done(c, nil, "the claim %s has ended", args[0])
}

func heartbeatCommand() *cli.Command {
	return &cli.Command{
		Name:  "heartbeat",
		Usage: "give a sign of life for a claim that promised them",
		Flags: claimFlags(),
		Action: func(c *cli.Context) error {
			if _, err := positionals(c, 0); err != nil {
				return err
			}
			id, err := claimID(c)
			if err != nil {
				return err
			}
			r, err := connect(c).Heartbeat(c.Context, id)
			if err != nil {
				return err
			}
			return done(c, client.ClaimBody{Claim: r}, "%s is held", r.Ticket)
		},
	}
}

func finishCommand() *cli.Command {
	return &cli.Command{
		Name:  "finish",
		Usage: "finish the claim's ticket and release the claim",
		Flags: claimFlags(&cli.StringFlag{Name: "summary", Usage: "a line for people, `TEXT`"}),
		Action: func(c *cli.Context) error {
			if _, err := positionals(c, 0); err != nil {
				return err
			}
			id, err := claimID(c)
			if err != nil {
				return err
			}
			t, err := connect(c).Finish(c.Context, id, c.String("summary"))
			if err != nil {
				return err
			}
			return done(c, client.TicketBody{Ticket: t}, "%s is %s", t.ID, t.State)
		},
	}
}
