// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command proof breaks Picket on purpose and looks whether its guarantees hold: it runs real daemons, agents and receivers over a real
// Redis in namespaces of their own, has faults overlap as a seed says, writes down every call, answer, notification and record of the
// audit, and has that history judged by a checker that shares no code with the product. docs/proof.md tells what it found.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/picketd/picket/proof/load"
)

// command is a subcommand. It returns whether nothing was found that must not be.
type command struct {
	name, says string
	run        func(context.Context, []string) (bool, error)
}

var commands = []command{
	{"run", "make one history from a seed, and check it", runOne},
	{"campaign", "make many histories, over all topologies and profiles, and count", runCampaign},
	{"mutations", "take rules out of Picket one at a time, until each is missed", runMutations},
	{"check", "check the history in a file", checkFile},
	{"draw", "draw the history in a file as a page of HTML", drawFile},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent" { // a process of the load's own
		os.Exit(load.Agent(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name != os.Args[1] {
				continue
			}
			right, err := c.run(ctx, os.Args[2:])
			switch {
			case err != nil:
				fmt.Fprintf(os.Stderr, "proof %s: %v\n", c.name, err)
				os.Exit(2)
			case !right:
				os.Exit(1)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: proof COMMAND [FLAG]..., and proof COMMAND -h tells its flags")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.says)
	}
	os.Exit(2)
}
