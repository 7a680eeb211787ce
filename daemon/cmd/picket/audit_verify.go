// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// auditRun is what picket audit --verify found of one run of a daemon. The lists are of numbers and rows of them, as 17-42.
type auditRun struct {
	Run     string    `json:"run"`
	Host    string    `json:"host"`
	From    time.Time `json:"from"`
	First   int64     `json:"first"`
	Last    int64     `json:"last"`
	Earlier bool      `json:"earlier"` // it began before what is kept, or looked at
	Ended   bool      `json:"ended"`   // its last record is that of a clean end
	Dropped []string  `json:"dropped"` // missing, and a record tells so
	Missing []string  `json:"missing"` // missing, and nothing tells so
	Gone    []string  `json:"gone"`    // the journal took them, and has them no more, which rotation does not explain
	Rotated []string  `json:"rotated"` // the journal took them, and has nothing as old any more
	Twice   []string  `json:"twice"`

	gaps, told, again, gone, rotated []numbers
}

// numbers is a row of them.
type numbers struct{ first, last int64 }

func (n numbers) String() string {
	if n.first == n.last {
		return strconv.FormatInt(n.first, 10)
	}
	return fmt.Sprintf("%d-%d", n.first, n.last)
}

// parseNumbers reads what String makes, several with a space between; what cannot be read tells of nothing.
func parseNumbers(s string) (all []numbers) {
	for one := range strings.FieldsSeq(s) {
		first, last, many := strings.Cut(one, "-")
		if !many {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 64)
		to, err2 := strconv.ParseInt(last, 10, 64)
		if err1 == nil && err2 == nil && from <= to {
			all = append(all, numbers{from, to})
		}
	}
	return all
}

// without takes what others hold out of a row of numbers.
func (n numbers) without(others []numbers) (left []numbers) {
	left = []numbers{n}
	for _, o := range others {
		var next []numbers
		for _, l := range left {
			if o.last < l.first || o.first > l.last {
				next = append(next, l)
				continue
			}
			if l.first < o.first {
				next = append(next, numbers{l.first, o.first - 1})
			}
			if o.last < l.last {
				next = append(next, numbers{o.last + 1, l.last})
			}
		}
		left = next
	}
	return left
}

// add notes a record. One that comes after later ones fills its gap.
func (r *auditRun) add(e *auditEntry) {
	switch {
	case r.Last == 0:
		r.First, r.Last, r.Host, r.From = e.Seq, e.Seq, e.Host, e.Time
	case e.Seq > r.Last:
		if e.Seq > r.Last+1 {
			r.gaps = append(r.gaps, numbers{r.Last + 1, e.Seq - 1})
		}
		r.Last, r.Ended = e.Seq, false
	case e.Seq < r.First:
		if e.Seq < r.First-1 {
			r.gaps = append(r.gaps, numbers{e.Seq + 1, r.First - 1})
		}
		r.First = e.Seq
	case slices.ContainsFunc(r.gaps, func(g numbers) bool { return g.first <= e.Seq && e.Seq <= g.last }):
		var left []numbers
		for _, g := range r.gaps {
			left = append(left, g.without([]numbers{{e.Seq, e.Seq}})...)
		}
		r.gaps = left
	default:
		r.again = append(r.again, numbers{e.Seq, e.Seq})
	}
	r.told = append(r.told, parseNumbers(e.Dropped)...)
	if e.Seq == r.Last {
		r.Ended = e.Event == "stopped"
	}
}

// conclude tells the gaps that a record explains from those that nothing does.
func (r *auditRun) conclude() {
	if r.First > 1 && !r.Earlier {
		begin := numbers{1, r.First - 1}
		r.gaps = append(begin.without(append(r.gone, r.rotated...)), r.gaps...)
	}
	var dropped, missing []numbers
	for _, g := range r.gaps {
		lacks := g.without(r.told)
		missing = append(missing, lacks...)
		dropped = append(dropped, g.without(lacks)...)
	}
	r.Dropped, r.Missing, r.Twice = texts(dropped), texts(missing), texts(r.again)
	r.Gone, r.Rotated = texts(r.gone), texts(r.rotated)
}

func texts(rows []numbers) []string {
	all := make([]string, len(rows))
	for i, n := range rows {
		all[i] = n.String()
	}
	return all
}

func (r *auditRun) whole() bool { return len(r.Missing)+len(r.Gone)+len(r.Twice) == 0 }

// auditVerify looks at all numbers. The run that is the first to be seen in a journal, or since a time, may have begun before.
func auditVerify(c *cli.Context, since time.Time, read func(func(*auditEntry) error) error) error {
	runs, order := map[string]*auditRun{}, []*auditRun{}
	err := read(func(e *auditEntry) error {
		if e.Time.Before(since) {
			return nil
		}
		r := runs[e.Run]
		if r == nil {
			r = &auditRun{Run: e.Run, Earlier: len(order) == 0 && (c.String("file") == "" || !since.IsZero())}
			runs[e.Run], order = r, append(order, r)
		}
		r.add(e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(order) == 0 {
		return exitf(exitFailed, "there are no records to verify")
	}
	var begins time.Time
	if c.String("file") == "" {
		marks, err := auditMarks()
		if err != nil {
			fmt.Fprintf(c.App.ErrWriter, "picket: whether the journal has lost the beginning or the end of a run was not looked at: %v\n", err)
		}
		if len(marks) > 0 {
			if begins, err = journalBegins(c.Context); err != nil {
				return err
			}
		}
		order = compareMarks(runs, order, marks, since, begins)
	}
	bad := 0
	for _, r := range order {
		r.Earlier = r.Earlier && r.First > 1
		if r.conclude(); !r.whole() {
			bad++
		}
	}
	err = answer(c, struct {
		Runs []*auditRun `json:"runs"`
	}{order}, func(w io.Writer) { printRuns(w, order) })
	if err == nil {
		tellRotated(c.App.ErrWriter, order, begins)
	}
	if err == nil && bad > 0 {
		return exitf(exitFailed, "%s of the daemon %s records that nothing accounts for", plural(bad, "run", "runs"), map[bool]string{true: "lacks", false: "lack"}[bad == 1])
	}
	return err
}

func printRuns(w io.Writer, runs []*auditRun) {
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
		t.row(r.Run, orDash(r.Host), clock(r.From), numbers, end, list(r.Dropped), list(r.Missing), list(r.Gone), list(r.Rotated), list(r.Twice))
	}
	t.print(w)
}

func list(of []string) string { return orDash(strings.Join(of, " ")) }
