// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/sockapi/client"
	"github.com/picketd/picket/ui"
)

func uiCommand() *cli.Command {
	return &cli.Command{
		Name:  "ui",
		Usage: "serve pages about the fleet on loopback, to look at and to decide",
		Description: "It prints one address, whose secret lets a browser in, and serves until it is interrupted. The pages have your rights on the " +
			"socket: root and administrators can decide what waits for a person. To look at a host from elsewhere: ssh -L 8080:127.0.0.1:8080 HOST picket ui " +
			"--listen 127.0.0.1:8080",
		Flags: clientFlags(
			&cli.StringFlag{Name: "listen", Usage: "an `ADDRESS:PORT` of loopback; port 0 is any that is free", Value: "127.0.0.1:0"},
			&cli.BoolFlag{Name: "read-only", Usage: "only look: nothing can be decided, by whomever"}),
		Action: func(c *cli.Context) error {
			ctx, stop := untilSignal(c.Context)
			defer stop()
			return servePages(ctx, c.String("socket"), c.String("listen"), c.Bool("read-only"), "", c.App.Writer)
		},
	}
}

// servePages prints the address of the pages behind some words, and serves them until ctx is done.
func servePages(ctx context.Context, socket, listen string, readOnly bool, words string, out io.Writer) error {
	listener, err := ui.Listen(listen)
	if err != nil {
		return exitf(exitUsage, "%v", err)
	}
	cl := client.New(socket, client.WithPatience(patience))
	server := ui.New(ui.Config{Client: cl, ReadOnly: readOnly, Report: func(ctx context.Context, w io.Writer, list, task string) (string, error) {
		r := reportReader{cl: cl, name: list, task: task, progress: io.Discard}
		if err := r.find(ctx, ""); err != nil {
			return "", err
		}
		made, err := r.read(ctx)
		if err != nil {
			return "", err
		}
		return report.Policy(), made.HTML(w)
	}})
	fmt.Fprintln(out, words+server.Address(listener.Addr()))
	return server.Serve(ctx, listener)
}
