// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/daemon/doctor"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what commonly goes wrong on this host, and say what would be right",
		Description: "It exits with 0 when nothing is wrong, also with warnings; with 1 when something is; with 69 when no daemon answers: then it " +
			"looks at the configuration, and at Redis with that.\n\n" +
			`With --json: {"ok": …, "findings": [{"check": …, "level": "ok" or "warning" or "wrong", "found": …, "right": …}]}.`,
		Flags: jsonFlags(configFlag()),
		Action: func(c *cli.Context) error {
			d, answered := doctor.Examine(c.Context, doctor.Config{Socket: c.String("socket"), File: c.String("config"), Describe: describe})
			err := answer(c, d, nil, func(w io.Writer) { printDiagnosis(w, d) })
			switch {
			case err != nil:
			case !answered:
				return &exitError{code: exitUnavailable}
			case !d.OK:
				return &exitError{code: exitFailed}
			}
			return err
		},
	}
}

func printDiagnosis(w io.Writer, d doctor.Diagnosis) {
	t := table{{"CHECK", "RESULT", "FOUND"}}
	for _, f := range d.Findings {
		t.row(f.Check, f.Level, f.Found)
		if f.Right != "" {
			t.row("", "", "→ "+f.Right)
		}
	}
	t.print(w)
}
