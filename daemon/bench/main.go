// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
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

// The arguments with which this program starts itself.
const (
	floorArg = "floor" // serve the floor: REDIS SOCKET
	idleArg  = "idle"  // do nothing
)

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == floorArg:
		return serveFloor(ctx, args[1], args[2])
	case len(args) == 1 && args[0] == idleArg:
		<-ctx.Done()
		return nil
	case len(args) > 0:
		return fmt.Errorf("cannot tell what %q is; make bench gives no arguments", args[0])
	}
	h, err := startHost(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	machine := describeMachine(h.redisVersion)
	rows, err := h.measureAll(ctx)
	if err != nil {
		return fmt.Errorf("%w%s", err, h.daemonLog())
	}
	fmt.Println(machine)
	fmt.Println()
	printTable(os.Stdout, rows)
	return nil
}
