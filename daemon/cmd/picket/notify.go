// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

// maxText is the API's limit on a notification's text, in bytes.
const maxText = 32 << 10

func notifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "notify",
		Usage: "have people told about the claim's ticket",
		Description: "When it succeeds, the notification is in the daemon's outbox and will be delivered. With --wait it\n" +
			"exits with 1 when every channel is settled and one of them has failed for good.",
		Flags: factsFlags(
			&cli.StringFlag{Name: "title", Usage: "one line, `TEXT`"},
			&cli.StringFlag{Name: "text", Usage: "what there is to say, `TEXT`"},
			&cli.StringFlag{Name: "text-file", Usage: "the text from `FILE`, - for standard input", TakesFile: true},
			&cli.StringFlag{Name: "severity", Usage: "info, low, medium, high or critical"},
			&cli.StringSliceFlag{Name: "channel", Usage: "a channel's `NAME`; may be repeated. Default: all that match"},
			durationFlag("wait", "wait for `DURATION` at most until it is delivered"),
		),
		Action: notifyAction,
	}
}

func notifyAction(c *cli.Context) error {
	text := c.String("text")
	if file := c.String("text-file"); file != "" {
		if text != "" {
			return usagef(c, "--text and --text-file cannot stand together")
		}
		b, err := readFile(c, file, maxText)
		if err != nil {
			return err
		}
		text = string(b)
	}
	if c.String("title") == "" || text == "" || c.String("severity") == "" {
		return usagef(c, "--title, --text (or --text-file) and --severity are needed")
	}
	f, err := facts(c)
	if err != nil {
		return err
	}
	r, err := connect(c).Notify(c.Context, c.String("claim"), client.NotificationRequest{
		Title: c.String("title"), Text: text, Severity: c.String("severity"), Facts: f, Channels: c.StringSlice("channel"),
	}, durationOf(c, "wait"))
	err = done(c, r, err, "%s is %s", r.Ticket.ID, r.Ticket.State)
	if err == nil && r.Ticket.State == client.StateFailed {
		return exitf(exitFailed, "the notification of %s could not be delivered: see picket ticket show %s", r.Ticket.ID, r.Ticket.ID)
	}
	return err
}
