// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
)

// verifyAudit looks at all numbers, and for those of the journal at what it took and has no more.
func verifyAudit(c *cli.Context, since time.Time, read func(func(*audit.Record) error) error) error {
	journaled := !c.IsSet("file")
	v := audit.NewVerifier(since, !journaled)
	err := read(func(r *audit.Record) error {
		v.Add(r)
		return nil
	})
	if err != nil {
		return err
	}
	if v.Empty() {
		return exitf(exitFailed, "there are no records to verify")
	}
	var begins time.Time
	if journaled {
		marks, err := auditMarks()
		if err != nil {
			fmt.Fprintf(c.App.ErrWriter, "picket: whether the journal has lost the beginning or the end of a run was not looked at: %v\n", err)
		}
		if len(marks) > 0 {
			if begins, err = audit.JournalBegins(c.Context); err != nil {
				return unreadable(err)
			}
		}
		v.Compare(marks, begins)
	}
	runs, bad := v.Runs(), 0
	for _, r := range runs {
		if !r.Whole() {
			bad++
		}
	}
	err = answer(c, struct {
		Runs []*audit.Run `json:"runs"`
	}{runs}, nil, func(w io.Writer) { printRuns(w, runs) })
	if err == nil {
		tellRotated(c.App.ErrWriter, runs, begins)
	}
	if err == nil && bad > 0 {
		return exitf(exitFailed, "%s of the daemon %s records that nothing accounts for", plain.Count(bad, "run", "runs"), map[bool]string{true: "lacks", false: "lack"}[bad == 1])
	}
	return err
}

// tellRotated says what nobody can verify any more, since rotation took it, or something that looks like that.
func tellRotated(w io.Writer, runs []*audit.Run, begins time.Time) {
	var records int64
	of := 0
	for _, r := range runs {
		if n := r.Older(); n > 0 {
			records += n
			of++
		}
	}
	if of > 0 {
		fmt.Fprintf(w, "picket: the journal begins at %s; %d older records, of %s of the daemon, are in it no more. That is what rotation leaves, and also who deletes the oldest files or fills the journal.\n",
			clock(begins), records, plain.Count(of, "run", "runs"))
	}
}

func printRuns(w io.Writer, runs []*audit.Run) {
	t := table{{"RUN", "HOST", "FROM", "NUMBERS", "END", "DROPPED", "MISSING", "GONE", "ROTATED", "TWICE"}}
	for _, r := range runs {
		numbers, end := fmt.Sprintf("%d … %d", r.First, r.Last), "stopped"
		if r.Earlier {
			numbers = fmt.Sprintf("%d (earlier ones are not kept) … %d", r.First, r.Last)
		}
		if !r.Ended {
			end = "running or killed"
		}
		if r.Last == 0 {
			numbers, end = "none", "not known"
		}
		t.row(r.Run, orDash(r.Host), clock(r.From), numbers, end, joined(r.Dropped), joined(r.Missing), joined(r.Gone), joined(r.Rotated), joined(r.Twice))
	}
	t.print(w)
}

func joined(of []string) string { return orDash(strings.Join(of, " ")) }
