// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

// doctorLimit is how long the daemon, and Redis without one, may take for all that is asked.
const doctorLimit = 10 * time.Second

// activationLimit is how long a call may take when systemd has the socket and runs no daemon.
const activationLimit = time.Second

// The levels of a finding.
const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelWrong   = "wrong"
)

// finding is what picket doctor says about one thing.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Found string `json:"found"`
	Right string `json:"right"` // what would be right; empty when it is, or when found says it too
}

// diagnosis is the answer of picket doctor --json.
type diagnosis struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

func (d *diagnosis) ok(check, format string, args ...any) {
	d.add(check, levelOK, "", format, args...)
}

func (d *diagnosis) warn(check, right, format string, args ...any) {
	d.add(check, levelWarning, right, format, args...)
}

func (d *diagnosis) wrong(check, right, format string, args ...any) {
	d.add(check, levelWrong, right, format, args...)
}

func (d *diagnosis) add(check, level, right, format string, args ...any) {
	d.Findings = append(d.Findings, finding{check, level, fmt.Sprintf(format, args...), right})
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what commonly goes wrong on this host, and say what would be right",
		Description: "It exits with 0 when nothing is wrong, also with warnings; with 1 when something is; with 69 when no daemon answers: then it " +
			"looks at the configuration, and at Redis with that.\n\n" +
			`With --json: {"ok": …, "findings": [{"check": …, "level": "ok" or "warning" or "wrong", "found": …, "right": …}]}.`,
		Flags: jsonFlags(configFlag()),
		Action: func(c *cli.Context) error {
			if _, err := positionals(c, 0); err != nil {
				return err
			}
			d := diagnosis{Findings: []finding{}}
			answered := d.examine(c)
			d.OK = answered && !slices.ContainsFunc(d.Findings, func(f finding) bool { return f.Level == levelWrong })
			if err := answer(c, d, func(w io.Writer) { d.print(w) }); err != nil {
				return err
			}
			switch {
			case !answered && !slices.ContainsFunc(d.Findings, denied):
				return &exitError{code: exitUnavailable}
			case !d.OK:
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
}

// denied: the daemon may well run, but this user is not let in.
func denied(f finding) bool { return f.Check == "access" && f.Level == levelWrong }

// examine looks at everything, and reports whether the daemon answered.
func (d *diagnosis) examine(c *cli.Context) (answered bool) {
	ctx, cancel := context.WithTimeout(c.Context, doctorLimit)
	defer cancel()
	socket := c.String("socket")
	running := d.service(ctx)
	d.socket(ctx, socket)
	cl := client.New(socket)
	asking := ctx
	if !running { // a call would wait in systemd's socket
		var end context.CancelFunc
		asking, end = context.WithTimeout(ctx, activationLimit)
		defer end()
	}
	s, err := cl.Status(asking)
	switch {
	case err == nil:
		d.daemon(ctx, cl, s)
	case errors.Is(err, fs.ErrPermission):
		d.access(socket)
	case errors.Is(err, context.DeadlineExceeded) && !running:
		d.wrong("daemon", "", "nobody answers: systemd has the socket, and no daemon runs")
	case errors.Is(err, context.DeadlineExceeded):
		d.wrong("daemon", "look at its log, and whether it is stopped (ps: state T); restart it", "it does not answer within %s", doctorLimit)
	case errors.Is(err, syscall.ECONNREFUSED):
		d.wrong("daemon", whereSocket(ctx, socket), "%s", describe(err))
	default:
		d.wrong("daemon", "", "%s", describe(err))
	}
	d.configuration(c, err == nil, s.PID)
	d.credentials(ctx)
	d.asDaemon(c)
	d.nightly(ctx)
	d.journal(ctx)
	d.kernel()
	return err == nil
}

func (d *diagnosis) print(w io.Writer) {
	t := table{{"CHECK", "RESULT", "FOUND"}}
	for _, f := range d.Findings {
		t.row(f.Check, f.Level, f.Found)
		if f.Right != "" {
			t.row("", "", "→ "+f.Right)
		}
	}
	t.print(w)
}
