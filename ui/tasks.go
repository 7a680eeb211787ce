// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// tasksShown is how many tasks a page has.
const tasksShown = 25

type tasks struct {
	client.TaskList
	Next string // the address of the next page, or empty
}

func tasksPage(v *visit) (any, error) {
	list, err := v.Tasks(v, tasksShown, client.Cursor(v.query.Get("cursor")))
	if err != nil {
		return nil, err
	}
	t := tasks{TaskList: list}
	if list.Cursor != "" {
		t.Next = link("/tasks", "cursor", string(list.Cursor))
	}
	return t, nil
}

// progress is how far a task is, in words.
type progress struct {
	client.Task
	Left   string           // about how long it still takes; empty when nobody can tell
	Hosts  []hostAt         // who works on it
	More   bool             // more are held than were counted
	States map[string]int64 // by state
}

// hostAt is a host with how many tickets it works on.
type hostAt struct {
	Host string
	N    int
}

func progressOf(t client.Task) progress {
	p := progress{Task: t, States: t.States}
	if left := t.Total - t.Done(); left > 0 && t.PerMinute > 0 {
		p.Left = about(time.Duration(float64(left) / t.PerMinute * float64(time.Minute)))
	}
	return p
}

// Percent is how much of it is done, in whole percent.
func (p progress) Percent() int64 {
	if p.Total == 0 {
		return 0
	}
	return 100 * p.Done() / p.Total
}
