// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

func channelCommand() *cli.Command {
	return &cli.Command{
		Name:  "channel",
		Usage: "the ways to notify that this host has",
		Subcommands: []*cli.Command{{
			Name:      "test",
			Usage:     "send a harmless message, once, and say what came back; exits with 1 when it was not accepted, 75 when it may be later",
			ArgsUsage: "CHANNEL",
			Flags:     jsonFlags(&cli.StringFlag{Name: "severity", Usage: "how bad the message says that it is: info, low, medium, high or critical", Value: client.SeverityInfo}),
			Action:    channelTest,
		}},
	}
}

func channelTest(c *cli.Context) error {
	cl := connect(c)
	if _, err := cl.Status(c.Context); err != nil { // a test may last long, so see first that somebody answers
		return err
	}
	t, err := cl.TestChannel(c.Context, arguments(c)[0], c.String("severity"))
	err = answer(c, t, err, func(w io.Writer) { fmt.Fprintln(w, clean(testText(t))) })
	switch {
	case err != nil, t.Status == client.DeliverySent:
		return err
	case t.Status == client.DeliveryPending:
		return &exitError{code: exitTempFail}
	}
	return &exitError{code: exitFailed}
}

func testText(t client.ChannelTest) string {
	what := map[string]string{
		client.DeliverySent:    "accepted the message %s after %s",
		client.DeliveryPending: "did not accept the message %s, and may later; it said so after %s",
		client.DeliveryUnknown: "may have got the message %s: no receipt came within %s",
		client.DeliveryDead:    "refused the message %s after %s",
	}[t.Status]
	text := fmt.Sprintf("%s (%s) "+what, t.Channel, t.Type, t.ID, millis(t.TookMS))
	if t.Error != "" {
		text += ": " + t.Error
	}
	if t.RetryAfterMS > 0 {
		text += "; try again in " + millis(t.RetryAfterMS)
	}
	return text
}
