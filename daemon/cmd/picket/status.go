// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/daemon/doctor"
	"github.com/picketd/picket/sockapi/client"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "show how the daemon is; exits with 1 when it is not ready",
		Flags: jsonFlags(),
		Action: func(c *cli.Context) error {
			s, err := connect(c).Status(c.Context)
			err = answer(c, s, err, func(w io.Writer) { printStatus(w, s) })
			if err == nil && !s.Ready {
				return &exitError{code: exitFailed}
			}
			return err
		},
	}
}

func printStatus(w io.Writer, s client.Status) {
	ready := "ready"
	if s.Draining {
		ready = "stopping"
	} else if !s.Ready {
		ready = "not ready"
	}
	table{
		{"DAEMON", ready},
		{"version", s.Version},
		{"host", s.Host},
		{"identity", s.ID},
		{"pid", strconv.Itoa(s.PID)},
		{"since", clock(s.StartedAt)},
		{"lock ttl", millis(s.LockTTLMS)},
		{"claims", strconv.Itoa(s.Claims)},
		{"outbox", doctor.Waiting(s.Outbox)},
	}.print(w)
	checks := table{{"CHECK", "OK", "ERROR"}}
	for _, c := range s.Checks {
		checks.row(c.Name, map[bool]string{true: "yes", false: "no"}[c.OK], c.Error)
	}
	section(w, checks)
	warnings := table{{"WARNING", "AT", "MESSAGE"}}
	for _, k := range s.Warnings {
		warnings.row(k.Name, clockOr(k.At, "-"), k.Message)
	}
	section(w, warnings)
	channels := table{{"CHANNEL", "TYPE", "FROM SEVERITY", "AT MOST ONCE", "BREAKER"}}
	for _, c := range s.Channels {
		channels.row(c.Name, c.Type, c.MinSeverity, map[bool]string{true: "yes", false: "no"}[c.AtMostOnce],
			map[bool]string{true: "open", false: "closed"}[c.BreakerOpen])
	}
	section(w, channels)
}
