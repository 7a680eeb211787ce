// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// Counts sum up a run.
type Counts struct {
	Total    int `json:"total"`
	Done     int `json:"done"`
	Running  int `json:"running"`
	Before   int `json:"before"` // of those done: by an earlier run, or another host
	Held     int `json:"held"`   // by another
	Later    int `json:"later"`  // to be tried later for another reason
	Failed   int `json:"failed"`
	Stopped  int `json:"stopped"`
	HighRisk int `json:"high_risk"`

	Report string `json:"-"` // what became of the list's report: Done, Failed, Held or Stopped; empty: there is none

	Whole *Whole `json:"-"` // of the list, over all hosts; nil: nobody can tell

	Began  time.Time `json:"-"`
	Ending bool      `json:"-"` // nothing more is begun

	Unchecked bool `json:"-"` // at the end nobody could tell whether what was done before still is

	Away      string    `json:"-"` // what the last call did not find: "Redis is away"; empty while all is there
	AwaySince time.Time `json:"-"`
}

// add counts n assets that are settled so; with -1, one is not any more.
func (c *Counts) add(r Result, n int) {
	switch r.Outcome {
	case Done:
		c.Done += n
		if r.Skipped {
			c.Before += n
		}
	case Failed:
		c.Failed += n
	case Stopped:
		c.Stopped += n
	}
	if r.HighRisk {
		c.HighRisk += n
	}
}

// Line sums up a run that goes on, in at most so many columns if that is more than none. Where there is no room, what matters
// least is left out: what was done before, what counts nothing, what runs, and what others hold. What is done, failed and at high risk is
// that of all hosts, if it is known, and so is how long it takes yet.
func (c Counts) Line(now time.Time, most int) string {
	here, perMinute := c.Done-c.Before, 0.0
	if w := c.Whole; w != nil {
		c.Done, c.Failed, c.HighRisk = min(max(c.Done, w.Done), c.Total), max(c.Failed, w.Failed), max(c.HighRisk, w.HighRisk)
		perMinute = w.PerMinute
	}
	parts := []segment{{fmt.Sprintf("%d of %d done", c.Done, c.Total), 0}}
	switch {
	case c.Whole != nil && here < c.Done:
		parts = append(parts, segment{fmt.Sprintf(" (%d here)", here), 4})
	case c.Before > 0:
		parts = append(parts, segment{fmt.Sprintf(" (%d before)", c.Before), 4})
	}
	for _, k := range []struct {
		n    int
		what string
		rank int
	}{{c.Running, "running", 2}, {c.Held, "held elsewhere", 1}, {c.Failed, "failed", 0}, {c.HighRisk, "high risk", 0}} {
		if k.n == 0 {
			k.rank = 3
		}
		parts = append(parts, segment{fmt.Sprintf(", %d %s", k.n, k.what), k.rank})
	}
	if c.Later > 0 {
		parts = append(parts, segment{fmt.Sprintf(", %d to be tried later", c.Later), 1})
	}
	settled := c.Done + c.Failed + c.Stopped
	switch worked := settled - c.Before; {
	case c.Away != "":
		parts = slices.Insert(parts, 0, segment{sinceWhen(c.Away, c.AwaySince) + ": ", 0})
	case settled >= c.Total || c.Ending:
	case perMinute > 0:
		left := time.Duration(float64(c.Total-settled) / perMinute * float64(time.Minute))
		parts = append(parts, segment{", about " + plain.About(left) + " left", 0})
	case worked > 0:
		left := now.Sub(c.Began) / time.Duration(worked) * time.Duration(c.Total-settled)
		parts = append(parts, segment{", about " + plain.About(left) + " left", 0})
	}
	line := ""
	for rank := 4; rank >= 0; rank-- {
		if line = join(parts, rank); most <= 0 || len(line) <= most {
			return line
		}
	}
	return line[:most]
}

// segment is a piece of the line of progress. Those with the highest rank are left out first.
type segment struct {
	text string
	rank int
}

func join(parts []segment, rank int) string {
	var b strings.Builder
	for _, p := range parts {
		if p.rank <= rank {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

func (c Counts) done() string {
	done := fmt.Sprintf("%d of %d done", c.Done, c.Total)
	switch {
	case c.Before == 0:
	case c.Whole != nil && c.Before > c.Whole.Before: // the rest of it was done since by others
		done += fmt.Sprintf(" (%d here, %d on other hosts, %d before)", c.Done-c.Before, c.Before-c.Whole.Before, c.Whole.Before)
	default:
		done += fmt.Sprintf(" (%d before)", c.Before)
	}
	return done
}

// sinceWhen says since when something is so, in this machine's zone.
func sinceWhen(what string, since time.Time) string {
	if since.IsZero() {
		return what
	}
	return what + " since " + since.Local().Format(time.TimeOnly)
}

// Sentence sums up a run that has ended.
func (c Counts) Sentence(now time.Time) string {
	said := fmt.Sprintf("%s, %d at high risk, %d failed", c.done(), c.HighRisk, c.Failed)
	if c.Held > 0 {
		said += fmt.Sprintf(", %d held elsewhere", c.Held)
	}
	if c.Later > 0 {
		said += fmt.Sprintf(", %d put off", c.Later)
	}
	if c.Stopped > 0 {
		said += fmt.Sprintf(", %d not done because the run was ended", c.Stopped)
	}
	if c.Unchecked {
		said += ", but whether all of it still is could not be told at the end"
	}
	said += ", in " + plain.About(now.Sub(c.Began))
	if c.Away != "" {
		said += "; " + sinceWhen(c.Away, c.AwaySince)
	}
	return said
}

// NothingDone says whether all of a list was done before, so that this run examined nothing.
func (c Counts) NothingDone() bool { return c.Total > 0 && c.Before == c.Total && !c.Unchecked }
