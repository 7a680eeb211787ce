// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command picket-demo shows with real processes what Picket is for: one asset from claim to notification, and a frozen writer
// that is refused. It needs the command picket and the example agents, and nothing else: Redis is embedded.
//
// On a terminal it ends with the address of pages over what the story left, and stays until it is interrupted.
//
// All processes that it starts end with it, however it ends, and its files are removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"
)

func main() {
	picket := flag.String("picket", "bin/picket", "the command picket")
	agent := flag.String("agent", "bin/agent-go", "the example agent in Go")
	examples := flag.String("examples", "examples", "the folder of the examples")
	flag.Parse()
	// The processes of the demo end with the thread that started them: this one.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := demo(ctx, *picket, *agent, *examples)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err != nil && interrupted:
		os.Exit(128 + int(syscall.SIGINT))
	case err != nil:
		fmt.Fprintln(os.Stderr, "picket-demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, picket, agent, examples string) (err error) {
	s, err := newStage(picket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.clear()) }()
	defer catch(&err)
	tell(ctx, s, agent, examples)
	if term.IsTerminal(int(os.Stdout.Fd())) {
		s.show(ctx)
	}
	return nil
}
