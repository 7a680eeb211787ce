// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

// defaultSocket is where the daemon of a package listens.
const defaultSocket = "/run/picket/picket.sock"

// clientFlags are those of every command that talks to the daemon.
func clientFlags(more ...cli.Flag) []cli.Flag {
	return append(more, &cli.StringFlag{
		Name:    "socket",
		Usage:   "the daemon's socket, a `PATH`",
		EnvVars: []string{"PICKET_SOCKET"},
		Value:   defaultSocket,
	})
}

// jsonFlags are those of a command that can answer with JSON.
func jsonFlags(more ...cli.Flag) []cli.Flag {
	return clientFlags(append(more, &cli.BoolFlag{Name: "json", Usage: "print the API's answer as one JSON object"})...)
}

// claimFlags are those of a command that works on a claim.
func claimFlags(more ...cli.Flag) []cli.Flag {
	return jsonFlags(append(more, &cli.StringFlag{
		Name:    "claim",
		Usage:   "the claim's `ID`; picket exec sets it for its command",
		EnvVars: []string{"PICKET_CLAIM"},
	})...)
}

// factsFlags give facts to a step or a notification.
func factsFlags(more ...cli.Flag) []cli.Flag {
	return claimFlags(append(more,
		&cli.StringSliceFlag{
			Name:      "fact",
			Usage:     "a fact, `KEY=TEXT` or KEY:=JSON; may be repeated",
			KeepSpace: true,
		},
		&cli.StringFlag{
			Name:      "facts",
			Usage:     "all facts, a JSON object from `FILE`, - for standard input; not together with --fact",
			TakesFile: true,
		})...)
}

// patience is how long the daemon may take for an answer, beyond a wait that was asked for. With Redis away it says so sooner.
const patience = 10 * time.Second

func connect(c *cli.Context) *client.Client {
	return client.New(c.String("socket"), client.WithPatience(patience))
}

func reasonFlag() cli.Flag {
	return &cli.StringFlag{Name: "reason", Usage: "why, `TEXT` for the history"}
}

// duration is a flag's value; the zero value means that it was not given.
type duration time.Duration

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		return errors.New("a duration such as 30s or 10m is needed")
	}
	*d = duration(v)
	return nil
}

// String is the form that the API takes, empty when none was given.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func durationFlag(name, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Usage: usage, Value: new(duration)}
}

func durationOf(c *cli.Context, name string) time.Duration {
	return time.Duration(*c.Generic(name).(*duration))
}

// durationText is a duration flag's value as the API takes it.
func durationText(c *cli.Context, name string) string {
	return c.Generic(name).(*duration).String()
}
