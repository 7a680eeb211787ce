// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"time"

	"github.com/picketd/picket/agent/plain"
)

// Task is how far a task is, over all hosts.
type Task struct {
	Task      string           `json:"task"`
	Total     int64            `json:"total" doc:"Its tickets, or the assets of the largest list that a host goes through for it, if those are more: what is not among states was not claimed yet."`
	Lists     int64            `json:"lists" doc:"How many lists hosts go through for it. With more than one, nobody knows how far they are the same, and total may be too small."`
	States    map[string]int64 `json:"states" doc:"How many of its tickets are in each state, without those that are 0, and without those that are damaged. It may lag by 2 s."`
	Damaged   int64            `json:"damaged" doc:"How many of its tickets are damaged, as far as that was found: by who read one, or by the hourly walk."`
	Failed    int64            `json:"failed" doc:"How many of its tickets have a failure, or are FAILED."`
	HighRisk  int64            `json:"high_risk" doc:"How many of its tickets have high_risk true."`
	PerMinute float64          `json:"per_minute" doc:"How many became FINISHED or FAILED a minute, over the last 10 minutes or since it began."`
	StartedAt *time.Time       `json:"started_at" doc:"When the ticket was made that was written to least lately, or null when there is none."`
	UpdatedAt time.Time        `json:"updated_at" doc:"When one of its tickets was last written to."`
}

// Done is how many of its tickets are terminal.
func (t Task) Done() int64 { return t.States[StateFinished] + t.States[StateFailed] }

// Waiting is how many assets of its list nobody has claimed yet.
func (t Task) Waiting() int64 {
	n := t.Total - t.Damaged
	for _, some := range t.States {
		n -= some
	}
	return n
}

// TaskList answers GET /v1/tasks. Cursor and Incomplete are as of a TicketList.
type TaskList struct {
	Tasks      []Task `json:"tasks"`
	Cursor     Cursor `json:"cursor" nullable:"true" doc:"For the next page; null on the last."`
	Incomplete bool   `json:"incomplete,omitempty" doc:"True: some may be missing."`
}

// TaskBody answers GET /v1/tasks/{task}.
type TaskBody struct {
	Task       Task      `json:"task"`
	Incomplete bool      `json:"incomplete,omitempty" doc:"True: some tickets may not be counted."`
	NewRisks   *NewRisks `json:"new_risks,omitempty" doc:"If it was asked for."`
}

// NewRisks is what came of comparing tickets at high risk with those that their assets had before.
type NewRisks struct {
	New      int64 `json:"new" doc:"At high risk, which the asset's ticket before was not that had been assessed; or there is none among its last eight."`
	Compared int64 `json:"compared" doc:"How many were: at most 500, those written last."`
}

// Cursor leads to the next page of a listing. On the last page it is empty, as JSON null.
type Cursor string

// MarshalJSON writes null for an empty cursor.
func (c Cursor) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return plain.JSON(string(c))
}
