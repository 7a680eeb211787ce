// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"slices"
	"time"
)

// Run is what a Verifier found of one run of a daemon. The lists are of numbers and rows of them, as 17-42.
type Run struct {
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

	gaps, told, again, gone, rotated []span
}

// Verifier looks at the numbers of all runs.
type Verifier struct {
	since time.Time
	whole bool
	runs  map[string]*Run
	order []*Run
}

// NewVerifier looks at records from a time on. Unless there is the whole of what was recorded, the run that is the first to be seen
// may have begun before.
func NewVerifier(since time.Time, whole bool) *Verifier {
	return &Verifier{since: since, whole: whole && since.IsZero(), runs: map[string]*Run{}}
}

// Add notes a record.
func (v *Verifier) Add(e *Record) {
	if e.Time.Before(v.since) {
		return
	}
	r := v.runs[e.Run]
	if r == nil {
		r = &Run{Run: e.Run, Earlier: len(v.order) == 0 && !v.whole}
		v.runs[e.Run], v.order = r, append(v.order, r)
	}
	r.add(e)
}

// Empty reports whether there was no record.
func (v *Verifier) Empty() bool { return len(v.order) == 0 }

// Runs are those that there are records of, or that Compare knows, and what became of their numbers. It is called once, at the end.
func (v *Verifier) Runs() []*Run {
	for _, r := range v.order {
		r.Earlier = r.Earlier && r.First > 1
		r.conclude()
	}
	return v.order
}

// markDelay is how long after a record the daemon notes that the journal took it: at its next tick, of a minute.
const markDelay = 2 * time.Minute

// Compare notes which numbers the journal took and has no more. What lies before all that it still has of the daemon, and
// before begins, the journal's own beginning, rotation has taken. Who asks for a time by since is to have all of it, so there nothing is
// explained. Marks are in the order of the runs, whatever the clock did.
func (v *Verifier) Compare(marks []Mark, begins time.Time) {
	oldest := true // the journal has nothing that is older than this mark
	for _, m := range marks {
		noted := m.Began.Add(-markDelay)
		if noted.Before(v.since) {
			continue
		}
		r := v.runs[m.Run]
		if r == nil {
			r = &Run{Run: m.Run, From: m.Began}
			v.runs[m.Run], v.order = r, append(v.order, r)
		}
		rotates := oldest && v.since.IsZero() && !begins.Before(noted)
		for _, lack := range (span{m.First, m.Last}).without(append([]span{{r.First, r.Last}}, r.told...)) {
			if rotates && (r.Last == 0 || lack.last < r.First) {
				r.rotated = append(r.rotated, lack)
			} else {
				r.gone = append(r.gone, lack)
			}
		}
		oldest = oldest && (r.Last == 0 || m.Last < r.First)
	}
}

// add notes a record. One that comes after later ones fills its gap.
func (r *Run) add(e *Record) {
	switch {
	case r.Last == 0:
		r.First, r.Last, r.Host, r.From = e.Seq, e.Seq, e.Host, e.Time
	case e.Seq > r.Last:
		if e.Seq > r.Last+1 {
			r.gaps = append(r.gaps, span{r.Last + 1, e.Seq - 1})
		}
		r.Last, r.Ended = e.Seq, false
	case e.Seq < r.First:
		if e.Seq < r.First-1 {
			r.gaps = append(r.gaps, span{e.Seq + 1, r.First - 1})
		}
		r.First = e.Seq
	case slices.ContainsFunc(r.gaps, func(g span) bool { return g.first <= e.Seq && e.Seq <= g.last }):
		var left []span
		for _, g := range r.gaps {
			left = append(left, g.without([]span{{e.Seq, e.Seq}})...)
		}
		r.gaps = left
	default:
		r.again = append(r.again, span{e.Seq, e.Seq})
	}
	r.told = append(r.told, parseSpans(e.Dropped)...)
	if e.Seq == r.Last {
		r.Ended = e.Kind == Stopped
	}
}

// conclude tells the gaps that a record explains from those that nothing does.
func (r *Run) conclude() {
	if r.First > 1 && !r.Earlier {
		begin := span{1, r.First - 1}
		r.gaps = append(begin.without(append(r.gone, r.rotated...)), r.gaps...)
	}
	var dropped, missing []span
	for _, g := range r.gaps {
		lacks := g.without(r.told)
		missing = append(missing, lacks...)
		dropped = append(dropped, g.without(lacks)...)
	}
	r.Dropped, r.Missing, r.Twice = texts(dropped), texts(missing), texts(r.again)
	r.Gone, r.Rotated = texts(r.gone), texts(r.rotated)
}

// Whole reports whether nothing is amiss.
func (r *Run) Whole() bool { return len(r.Missing)+len(r.Gone)+len(r.Twice) == 0 }

// Older is how many records rotation took.
func (r *Run) Older() (n int64) {
	for _, s := range r.rotated {
		n += s.last - s.first + 1
	}
	return n
}
