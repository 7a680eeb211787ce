// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "github.com/urfave/cli/v2"

func lockCommand() *cli.Command {
	return &cli.Command{
		Name:  "lock",
		Usage: "the locks of assets",
		Subcommands: []*cli.Command{
			{
				Name:        "break",
				Usage:       "take an asset from whoever holds it, and free its lock; for administrators",
				ArgsUsage:   "ASSET",
				Description: "The holder, on whatever host, can write nothing more, and is told. The ticket stays as it is.",
				Flags:       clientFlags(reasonFlag()),
				Action:      lockBreak,
			},
		},
	}
}

func lockBreak(c *cli.Context) error {
	args, err := positionals(c, 1)
	if err != nil {
		return err
	}
	why, err := reason(c)
	if err != nil {
		return err
	}
	if err := connect(c).Break(c.Context, args[0], why); err != nil {
		return err
	}
	return done(c, nil, "the lock on %s is broken", args[0])
}
