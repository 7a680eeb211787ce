// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
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
			args := arguments(c)
			f, err := facts(c)
			if err != nil {
				return err
			}
			r, err := connect(c).Step(c.Context, c.String("claim"), client.StepRequest{
				Step: args[0], State: args[1], Facts: f, Summary: c.String("summary"),
			})
			return done(c, r, err, "%s is %s; next: %s", r.Ticket.ID, r.Ticket.State, nextText(r.Next))
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
			args := arguments(c)
			r, err := connect(c).Fail(c.Context, c.String("claim"), client.FailureRequest{Step: args[0], Error: args[1], Final: c.Bool("final")})
			return done(c, r, err, "%s is %s; next: %s", r.Ticket.ID, r.Ticket.State, nextText(r.Next))
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
			step, asset, task := arguments(c)[0], c.String("asset"), c.String("task")
			if asset == "" || task == "" {
				return usagef(c, "no ticket is named: run it under picket exec, or give --asset and --task")
			}
			r, err := connect(c).Ticket(c.Context, asset, task)
			if err != nil && !notFound(err) {
				return err
			}
			_, recorded := r.Steps[step]
			if !recorded && (step != client.CallNotify || r.Notification == nil) {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
}
