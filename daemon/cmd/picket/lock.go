// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

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
	asset, cl := arguments(c)[0], connect(c)
	// For the answer only: the break fences off whoever holds the asset by then.
	before, unread := cl.Tickets(c.Context, client.TicketQuery{Asset: asset, Exact: true, Limit: maxPage})
	if err := cl.Break(c.Context, asset, c.String("reason")); err != nil {
		return err
	}
	for _, t := range before.Tickets {
		if t.Holder != nil {
			return done(c, nil, nil, "the lock on %s is broken; it was held by %s", t.Asset, holderText(t.Holder))
		}
	}
	if unread != nil {
		return done(c, nil, nil, "the lock on %s is broken", asset)
	}
	fmt.Fprintf(c.App.ErrWriter, "picket: nobody held %s; whoever had held it before can write nothing more\n", clean(asset))
	return nil
}
