// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// rowsShown is how many rows of a history a page has, the newest; columns is how many lanes stand beside each other.
const (
	rowsShown = 400
	columns   = 6
)

// timeline is a ticket's history: accepted and refused writes by time, with a lane for each claim.
type timeline struct {
	Rows     []event
	Older    int // of the history, how many rows are not shown
	Columns  int
	Refusals []refusal
}

// event is a row of the history.
type event struct {
	client.Event
	Refused bool
	After   string // how long after the row before, where that is a second or more
	Cells   []cell
	claim   *span
}

// cell is what a lane shows beside a row: the lines to the rows above and below (live, after or nothing), and a mark.
type cell struct {
	Up, Down, Mark string
}

// span is a claim in the history, from its first row to its last one.
type span struct {
	token       int64
	host        string
	first, last int
	end         int // the row in which it ended, or in which a newer claim was granted; behind the last row while it is held
	why         string
	column      int
}

// refusal is a refused write in words.
type refusal struct {
	At   time.Time
	Text string
}

// endings are the events that end a claim.
var endings = []string{"released", "lost", "finished"}

func newTimeline(h client.History) timeline {
	var t timeline
	for _, e := range h.Events {
		t.Rows = append(t.Rows, event{Event: e})
	}
	for _, e := range h.Refused {
		t.Rows = append(t.Rows, event{Event: e, Refused: true})
	}
	slices.SortStableFunc(t.Rows, func(a, b event) int { return a.At.Compare(b.At) })
	t.Older = max(0, len(t.Rows)-rowsShown)
	t.Rows = t.Rows[t.Older:]
	spans := t.spans()
	t.place(spans)
	for i := range t.Rows {
		row := &t.Rows[i]
		if i > 0 {
			if d := row.At.Sub(t.Rows[i-1].At); d >= time.Second {
				row.After = about(d) + " later"
			}
		}
		for column := range t.Columns {
			row.Cells = append(row.Cells, cellOf(spans, column, i, row))
		}
		if row.Refused {
			t.Refusals = append(t.Refusals, refusal{row.At, t.refusalText(*row, spans)})
		}
	}
	return t
}

// spans are the claims of the history, in the order in which they begin.
func (t *timeline) spans() []*span {
	var all []*span
	known := map[int64]*span{}
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Token == 0 {
			continue
		}
		s := known[row.Token]
		if s == nil {
			s = &span{token: row.Token, host: row.Host, first: i, end: len(t.Rows)}
			known[row.Token] = s
			all = append(all, s)
		}
		row.claim, s.last = s, i
		if !row.Refused && slices.Contains(endings, row.Event.Event) && i < s.end {
			s.end, s.why = i, cmp.Or(row.Reason, row.Event.Event)
		}
		if !row.Refused && row.Event.Event == "claimed" {
			for _, older := range all {
				if older.token < row.Token {
					older.end = min(older.end, i)
				}
			}
		}
	}
	return all
}

// place gives each claim a column that is free for as long as it is shown. With too many at once, the last column is shared.
func (t *timeline) place(spans []*span) {
	var busy []int // until which row a column is taken
	for _, s := range spans {
		s.column = slices.IndexFunc(busy, func(until int) bool { return until < s.first })
		switch {
		case s.column >= 0:
		case len(busy) < columns:
			s.column, busy = len(busy), append(busy, 0)
		default:
			s.column = columns - 1
		}
		busy[s.column] = s.last
	}
	t.Columns = len(busy)
}

func cellOf(spans []*span, column, i int, row *event) (c cell) {
	kind := func(live bool) string { return map[bool]string{true: "live", false: "after"}[live] }
	for _, s := range spans {
		if s.column != column || i < s.first || i > s.last {
			continue
		}
		if i > s.first {
			c.Up = kind(i <= s.end)
		}
		if i < s.last {
			c.Down = kind(i < s.end)
		}
		if row.claim == s {
			c.Mark = cmp.Or(map[bool]string{true: "cross"}[row.Refused], "dot")
		}
	}
	return c
}

// refusalText says who was refused, what it wanted, and who had the asset then.
func (t *timeline) refusalText(row event, spans []*span) string {
	what := row.Event.Event
	if row.To != "" {
		what = row.To
	}
	if row.Step != "" {
		what += " (" + row.Step + ")"
	}
	text := fmt.Sprintf("%s wanted to record %s under token %s, and was refused (%s", cmp.Or(row.Host, "Somebody"), what, shortToken(row.Token),
		cmp.Or(row.Reason, "no reason is recorded"))
	if row.Count > 1 {
		text += fmt.Sprintf(", %d times", row.Count)
	}
	text += ")"
	if s := row.claim; s != nil && s.why != "" && s.end < len(t.Rows) {
		text += fmt.Sprintf(": its claim had ended (%s) %s before", s.why, about(row.At.Sub(t.Rows[s.end].At)))
	}
	var newer *span
	for _, s := range spans {
		if s.token > row.Token && (newer == nil || s.token > newer.token) {
			newer = s
		}
	}
	if newer != nil {
		text += fmt.Sprintf(". %s has had the newer token %s since %s, and what it recorded stands", newer.host, shortToken(newer.token),
			t.Rows[newer.first].At.UTC().Format("15:04:05"))
	}
	return text + "."
}
