// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command agent-small is an agent in ten lines: it looks whether an SSH server answers on an asset.
//
//	agent-small ASSET TASK
package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: agent-small ASSET TASK")
		os.Exit(64)
	}
	socket := cmp.Or(os.Getenv("PICKET_SOCKET"), "/run/picket/picket.sock")
	if err := scan(context.Background(), client.New(socket), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func scan(ctx context.Context, picket *client.Client, asset, task string) error {
	got, err := picket.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Wait: "30s"})
	if err != nil || got.Claim == nil { // no claim and no error: it is finished already
		return err
	}
	state := client.StateAssetOnline
	if conn, err := net.DialTimeout("tcp", net.JoinHostPort(asset, "22"), 5*time.Second); err != nil {
		state = client.StateAssetOffline
	} else {
		conn.Close()
	}
	step, err := picket.Step(ctx, got.Claim.ID, client.StepRequest{Step: client.StepOnline, State: state})
	if err != nil || step.Ticket.State != client.StateAssetOffline {
		return err // claim again to go on; a lost claim is an error with a reason, and nothing was written
	}
	_, err = picket.Finish(ctx, got.Claim.ID, "offline")
	return err
}
