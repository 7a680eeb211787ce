// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/supervise"
)

func main() {
	os.Exit(picketMain(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// picketMain runs one command line and returns its exit code.
func picketMain(args []string, in io.Reader, out, errs io.Writer) int {
	app := newApp()
	app.Reader, app.Writer, app.ErrWriter = in, out, errs
	if len(args) > 1 && args[1] == completeWord {
		complete(app, args[2:], out)
		return 0
	}
	if len(args) > 1 && args[1] == supervise.WardenWord {
		return supervise.Warden(args[2:])
	}
	args, err := arrange(app, args)
	if err == nil {
		err = app.Run(args)
	}
	printError(errs, err)
	return exitCode(err)
}

// newApp builds the tree of commands anew, because flags keep the values that they were given.
func newApp() *cli.App {
	app := &cli.App{
		Name:                      "picket",
		Usage:                     "locks, tickets and notifications for scanning agents",
		HideVersion:               true,
		HideHelpCommand:           true, // see arrange
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // or urfave exits by itself
		Commands: []*cli.Command{
			daemonCommand(), devCommand(), embeddedRedisCommand(),
			runCommand(), reportCommand(), execCommand(), doneCommand(), stepCommand(), notifyCommand(), failCommand(), finishCommand(), heartbeatCommand(),
			ticketCommand(), taskCommand(), claimCommand(), lockCommand(), hostCommand(), outboxCommand(), channelCommand(), auditCommand(), statusCommand(), doctorCommand(), uiCommand(),
			versionCommand(), completionCommand(), manCommand(),
		},
	}
	app.Action = groupAction(app.Commands)
	app.OnUsageError = onUsageError
	for _, c := range app.Commands {
		finishTree(c)
	}
	app.Setup()
	return app
}

// finishTree gives every command what all have in common.
func finishTree(c *cli.Command) {
	c.OnUsageError = onUsageError
	c.HideHelpCommand = true // or an asset named "help" could not be an argument
	for _, sub := range c.Subcommands {
		finishTree(sub)
	}
	if len(c.Subcommands) > 0 {
		c.Action = groupAction(c.Subcommands)
		return
	}
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		err := checkUsage(ctx)
		if err == nil {
			err = action(ctx)
		}
		if err != nil && ctx.Bool("json") {
			return &jsonError{err}
		}
		return err
	}
}
