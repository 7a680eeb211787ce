// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
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
					"listed for a day. Warnings tell of labels that two share, and of another version, layout of what is in Redis, lock.ttl or channels.",
				Flags:  jsonFlags(),
				Action: hostLs,
			},
			{
				Name:      "retire",
				Usage:     "have a host leave that is gone for good; for administrators",
				ArgsUsage: "ID",
				Description: "It is refused while the host is alive. What it answered for is taken over by this host, or offered to the others. If the " +
					"host comes back, it signs anew and goes on.",
				Flags:  jsonFlags(reasonFlag()),
				Action: hostRetire,
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

func hostRetire(c *cli.Context) error {
	r, err := connect(c).Retire(c.Context, arguments(c)[0], c.String("reason"))
	return answer(c, r, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s is retired: %s taken over or done, %s offered to the other hosts\n", clean(cmp.Or(r.Host.Host, r.Host.ID)),
			plain.Count(r.Taken, "ticket", "tickets"), plain.Count(r.Offered, "ticket", "tickets"))
		fmt.Fprintf(w, "when it last told of itself, %s pending in its outbox. Its outbox alone may still hold receipts that tickets lack, whose "+
			"notifications may be sent again under the same key, and notifications whose tickets Redis has lost\n",
			plain.Count(r.Host.Pending, "notification was", "notifications were"))
	})
}
