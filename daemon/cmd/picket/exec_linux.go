// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"
)

// releaseTimeout bounds the release at the end; the daemon also frees the lock when it sees this process end.
const releaseTimeout = 2 * time.Second

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "run a command under a claim on an asset",
		ArgsUsage: "ASSET TASK -- CMD…",
		Description: "CMD gets PICKET_SOCKET, PICKET_CLAIM, PICKET_TOKEN, PICKET_ASSET, PICKET_TASK, PICKET_TICKET and\n" +
			"PICKET_STATE. When the claim is lost, CMD and all its descendants get TERM, and soon after KILL; when picket exec\n" +
			"itself is killed, they are killed. A finished ticket is skipped with 0, a FAILED one with 1. At the end the claim\n" +
			"is released and the ticket stays as it is: finishing it is CMD's own word.\n\n" +
			"Exit codes: CMD's own, or 128 + its signal; 75 the claim was not acquired; 124 it was lost; 125 Picket failed;\n" +
			"126 CMD cannot be run; 127 there is no CMD.",
		Flags: clientFlags(
			durationFlag("wait", "wait for `DURATION` while another holds the asset; at most 10m"),
			durationFlag("heartbeat", "end CMD when it has made no call on its claim for `DURATION` (picket heartbeat, step …)"),
			durationFlag("max-hold", "end CMD after `DURATION`; default: the daemon's"),
			&cli.StringFlag{Name: "flow", Usage: "the `FLOW` of a new ticket; default: asset-inference"},
			&cli.IntFlag{Name: "conflict-exit", Aliases: []string{"E"}, Usage: "exit with `N` when the claim was not acquired", Value: exitTempFail},
		),
		Action: execAction,
	}
}

func execAction(c *cli.Context) error {
	before, argv, found := split(c)
	if !found && len(before) > 2 {
		return usagef(c, "-- is missing before the command")
	}
	if !found || len(before) != 2 || len(argv) == 0 {
		return usagef(c, "an asset, a task, -- and a command are needed")
	}
	conflictExit := c.Int("conflict-exit")
	if conflictExit < 0 || conflictExit > 255 {
		return usagef(c, "-E takes 0 to 255")
	}
	path, err := findProgram(argv[0])
	if err != nil {
		return err
	}
	cl := connect(c)
	req := client.ClaimRequest{
		Asset: before[0], Task: before[1], Flow: c.String("flow"),
		Wait: durationText(c, "wait"), Heartbeat: durationText(c, "heartbeat"), MaxHold: durationText(c, "max-hold"),
	}
	if req.Heartbeat != "" {
		req.PID = os.Getpid() // or a heartbeat alone would be the only sign of life
	}
	r, err := cl.Claim(c.Context, req)
	if req.PID != 0 && client.Refuses(err, "body.pid") { // from a container, where the daemon cannot tell who that is
		req.PID = 0
		r, err = cl.Claim(c.Context, req)
	}
	if err != nil {
		if exitCode(err) == exitTempFail {
			return exitf(conflictExit, "cannot claim %s: %v", before[0], err)
		}
		return internal(err)
	}
	if r.Claim == nil {
		return skipped(c.App.ErrWriter, r.Ticket)
	}
	env, err := environment(c.String("socket"), *r.Claim, r.Ticket)
	if err != nil {
		return internal(err)
	}
	g := guard{client: cl, claim: *r.Claim, errs: c.App.ErrWriter}
	code, err := g.run(path, argv, env)
	if g.lost == "" {
		g.release()
	}
	if err != nil {
		return internal(err)
	}
	return &exitError{code: code}
}

// findProgram returns the path of a command, as a shell would find it.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", cannotRun(name, err)
	}
	return path, nil
}

// cannotRun says why a command cannot be run, with the shell's code for it.
func cannotRun(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNotFound, "cannot run %s: there is no such command", name)
	}
	return exitf(exitCannotRun, "cannot run %s: %v", name, errors.Unwrap(err))
}

// internal is a failure of Picket's own, unless it has its code already.
func internal(err error) error {
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	return &exitError{exitInternal, describe(err)}
}

// skipped says that a terminal ticket needs no run.
func skipped(w io.Writer, t client.Ticket) error {
	if t.State == client.StateFailed {
		return exitf(exitFailed, "%s is FAILED: CMD was not run; see picket ticket show %s", t.ID, t.ID)
	}
	fmt.Fprintf(w, "picket: %s is already done\n", clean(t.ID))
	return nil
}

// environment is this process' own with what the command needs to work on the claim.
func environment(socket string, cl client.Claim, t client.Ticket) ([]string, error) {
	socket, err := filepath.Abs(socket)
	if err != nil {
		return nil, fmt.Errorf("cannot tell the socket's path: %w", err)
	}
	return lease.Environment(socket, cl, t), nil
}

// release lets go of the claim, on a context of its own.
func (g *guard) release() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := g.client.Release(ctx, g.claim.ID); err != nil {
		fmt.Fprintf(g.errs, "picket: cannot release the claim on %s: %s\n", clean(g.claim.Asset), clean(describe(err)))
	}
}
