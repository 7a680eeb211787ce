// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"strconv"

	"github.com/urfave/cli/v2"
)

func hostCommand() *cli.Command {
	return &cli.Command{
		Name:  "host",
		Usage: "the hosts of the fleet",
		Subcommands: []*cli.Command{
			{
				Name:  "ls",
				Usage: "list the hosts, how they are, and how they differ",
				Description: "A host is alive when it gave a sign of life in the last 25 s. One that is gone, and answers for no notification, is " +
					"listed for a day.",
				Flags:  jsonFlags(),
				Action: hostLs,
			},
		},
	}
}

func hostLs(c *cli.Context) error {
	r, err := connect(c).Hosts(c.Context)
	return answer(c, r, err, func(w io.Writer) {
		hosts := table{{"HOST", "ALIVE", "SIGNED", "VERSION", "CLAIMS", "PENDING", "PARKED", "DEAD", "ID"}}
		warnings := table{{"HOST", "WARNING", "MESSAGE"}}
		for _, h := range r.Hosts {
			hosts.row(h.Host, map[bool]string{true: "yes", false: "no"}[h.Alive], clockOr(h.SignedAt, "-"), h.Version, strconv.Itoa(h.Claims),
				strconv.Itoa(h.Pending), strconv.Itoa(h.Parked), strconv.Itoa(h.Dead), h.ID)
			for _, k := range h.Warnings {
				warnings.row(h.Host, k.Name, k.Message)
			}
		}
		hosts.print(w)
		section(w, warnings)
	})
}
