// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command bench measures figures of the daemon beside their floors, in one run on the machine at hand, and prints a table for
// BENCHMARKS.md. Run it from the root of the repository with make bench, which builds the daemon first.
//
// It starts a redis-server, bin/picket daemon, and a floor: this same program, serving the same calls with the same Redis work
// (redsync, the same Lua scripts with the same arguments) behind handlers that do nothing else. The same client calls both, in
// turns, A B B A, so that what else the machine does meets both alike. Only the ratios mean something.
//
// With scale (make scale) it measures instead how the cost grows with daemons and with assets, and prints exponents.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	runtime.LockOSThread() // the processes that it starts are to end with this thread
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// picketBinary is the command, seen from the root of the repository.
const picketBinary = "bin/picket"

// The arguments with which this program starts itself.
const (
	floorArg = "floor" // serve the floor: REDIS SOCKET
	idleArg  = "idle"  // do nothing
	scaleArg = "scale" // measure how the cost grows
)

func run(ctx context.Context, args []string) (err error) {
	switch {
	case len(args) == 3 && args[0] == floorArg:
		return serveFloor(ctx, args[1], args[2])
	case len(args) == 1 && args[0] == idleArg:
		<-ctx.Done()
		return nil
	case len(args) > 0 && args[0] == scaleArg:
		s, err := newScale(args[1:])
		if err != nil {
			return err
		}
		return s.run(ctx, os.Stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	busyAssets := flags.Int("assets", 30_000, "how many assets a daemon takes at full speed before its memory is read")
	pageTickets := flags.Int("tickets", 100_000, "how many tickets the pages of picket ui are measured over")
	if err := flags.Parse(args); err != nil {
		return err
	}
	h, err := newHost(picketBinary)
	if err != nil {
		return err
	}
	h.busyAssets, h.pageTickets = *busyAssets, *pageTickets
	defer h.stop()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w%s", err, h.daemonLog())
		}
	}()
	defer catch(&err)
	h.begin(ctx)
	machine := describeMachine(h.redisVersion)
	rows := h.measureAll(ctx)
	fmt.Println(machine)
	fmt.Println()
	printTable(os.Stdout, rows)
	return nil
}
