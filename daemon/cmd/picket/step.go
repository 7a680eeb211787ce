// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

func stepCommand() *cli.Command {
	return &cli.Command{
		Name:      "step",
		Usage:     "record a step's result on the claim's ticket",
		ArgsUsage: "NAME STATE",
		Description: "Recording the same result again is no error. --fact KEY=TEXT is text, KEY:=JSON is any JSON value;\n" +
			"what --facts reads is stored to the letter.",
		Flags: factsFlags(&cli.StringFlag{Name: "summary", Usage: "a line for people, `TEXT`"}),
		Action: func(c *cli.Context) error {
			args, err := positionals(c, 2)
			if err != nil {
				return err
			}
			id, err := claimID(c)
			if err != nil {
				return err
			}
			f, err := facts(c)
			if err != nil {
				return err
			}
			r, err := connect(c).Step(c.Context, id, client.StepRequest{
				Step: args[0], State: args[1], Facts: f, Summary: c.String("summary"),
			})
			if err != nil {
				return err
			}
			return done(c, r, "%s is %s; next: %s", r.Ticket.ID, r.Ticket.State, nextText(r.Next))
		},
	}
}

func failCommand() *cli.Command {
	return &cli.Command{
		Name:      "fail",
		Usage:     "record that a step failed",
		ArgsUsage: "STEP ERROR",
		Flags:     claimFlags(&cli.BoolFlag{Name: "final", Usage: "it is not to be retried: the ticket becomes FAILED"}),
		Action: func(c *cli.Context) error {
			args, err := positionals(c, 2)
			if err != nil {
				return err
			}
			id, err := claimID(c)
			if err != nil {
				return err
			}
			r, err := connect(c).Fail(c.Context, id, client.FailureRequest{Step: args[0], Error: args[1], Final: c.Bool("final")})
			if err != nil {
				return err
			}
			return done(c, r, "%s is %s; next: %s", r.Ticket.ID, r.Ticket.State, nextText(r.Next))
		},
	}
}

func doneCommand() *cli.Command {
	return &cli.Command{
		Name:        "done",
		Usage:       "tell by the exit code whether a step is recorded: 0 yes, 1 no",
		ArgsUsage:   "STEP",
		Description: "For scripts that resume: picket done online || picket step online ASSET_ONLINE. The step may also be notify.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "asset", Usage: "the `ASSET`", EnvVars: []string{"PICKET_ASSET"}},
			&cli.StringFlag{Name: "task", Usage: "the `TASK`", EnvVars: []string{"PICKET_TASK"}},
		),
		Action: func(c *cli.Context) error {
			args, err := positionals(c, 1)
			if err != nil {
				return err
			}
			asset, task := c.String("asset"), c.String("task")
			if asset == "" || task == "" {
				return usagef(c, "no ticket is named: run it under picket exec, or give --asset and --task")
			}
			r, err := connect(c).Ticket(c.Context, asset, task)
			if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.TicketNotFound {
				return &exitError{code: exitFailed}
			}
			if err != nil {
				return err
			}
			_, recorded := r.Steps[args[0]]
			if args[0] == client.CallNotify {
				recorded = r.Notification != nil
			}
			if !recorded {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
}
