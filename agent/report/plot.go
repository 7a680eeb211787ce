// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"fmt"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// plot is one figure over the last reports, as bars: what goes up, and what goes down below the line.
type plot struct {
	Title       string
	Up, Down    string // what the bars are, of Down "" where there are none
	Bars        []bar
	Runs        int
	Width       int
	Height      int
	Base        float64 // where the line is
	Most        int     // the largest figure above the line, and below it
	Least       int
	First, Last string // the days at the ends
	Now, Before int    // the newest figure of Up, and the one before
}

// bar is that of one report.
type bar struct {
	X, Y, W, H   float64
	Down, Newest bool
	Tip          string
}

const (
	mostRuns   = 30 // reports in a plot
	plotWidth  = 280
	plotHeight = 90
)

// plots are the figures over the last reports; none of a first report, which has nothing to be compared with.
func (r *Report) plots() []plot {
	runs := append(append([]Past{}, r.Earlier...), Past{r.Task, r.At, r.Previous == "", r.Counts})
	runs = runs[max(0, len(runs)-mostRuns):]
	if len(runs) < 2 {
		return nil
	}
	changed := func(n func(Counts) int) func(Past) int {
		return func(p Past) int {
			if p.First {
				return 0 // all was new, beside which the rest could not be seen
			}
			return n(p.Counts)
		}
	}
	of := func(n func(Counts) int) func(Past) int { return func(p Past) int { return n(p.Counts) } }
	return []plot{
		drawn("Open findings", runs, "open", of(func(c Counts) int { return c.Findings - c.Accepted }), "", nil),
		drawn("Assets at high risk", runs, "at high risk", of(func(c Counts) int { return c.HighRisk }), "", nil),
		drawn("New and fixed", runs, "new", changed(func(c Counts) int { return c.New }), "fixed", changed(func(c Counts) int { return c.Fixed })),
		drawn("Assets not scanned", runs, "failed or not scanned", of(func(c Counts) int { return c.Failed + c.NotScanned }), "", nil),
	}
}

func drawn(title string, runs []Past, upName string, up func(Past) int, downName string, down func(Past) int) plot {
	last := runs[len(runs)-1]
	p := plot{
		Title: title, Up: upName, Down: downName, Runs: len(runs), Width: plotWidth, Height: plotHeight,
		First: runs[0].At.UTC().Format(time.DateOnly), Last: last.At.UTC().Format(time.DateOnly), Now: up(last), Before: up(runs[len(runs)-2]),
	}
	for _, run := range runs {
		p.Most = max(p.Most, up(run))
		if down != nil {
			p.Least = max(p.Least, down(run))
		}
	}
	const gap = 2
	scale := float64(plotHeight) / float64(max(p.Most+p.Least, 1))
	if p.Base = float64(p.Most) * scale; p.Most+p.Least == 0 {
		p.Base = plotHeight
	}
	step := float64(plotWidth) / float64(max(len(runs), 8)) // few reports make no walls
	for i, run := range runs {
		tip := fmt.Sprintf("%s (%s): %d %s", plain.Cut(run.Task, 60), run.At.UTC().Format(time.DateOnly), up(run), upName)
		if down != nil {
			tip += fmt.Sprintf(", %d %s", down(run), downName)
		}
		x, newest := float64(i)*step, i == len(runs)-1
		if n := up(run); n > 0 {
			h := max(float64(n)*scale, 1)
			p.Bars = append(p.Bars, bar{x, p.Base - h, step - gap, h, false, newest, tip})
		}
		if down == nil {
			continue
		}
		if n := down(run); n > 0 {
			p.Bars = append(p.Bars, bar{x, p.Base, step - gap, max(float64(n)*scale, 1), true, newest, tip})
		}
	}
	return p
}
