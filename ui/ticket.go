// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"errors"
	"maps"
	"slices"

	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// findingsShown is how many findings a page has, the gravest first.
const findingsShown = 200

type ticket struct {
	client.Ticket
	Steps    []step
	Evidence verdict.Evidence             // its findings, and their figures
	Accepted map[int]verdict.AcceptedRisk // by the place among the findings
	Why      []string
	Channels []channel
	Drawings []drawing // of the flow, for a wide and for a narrow window
	History  timeline
}

// step is a recorded step with its name.
type step struct {
	Name string
	client.Step
}

// channel is a notification on one channel with the decisions that can be made about it.
type channel struct {
	Name string
	client.Delivery
	Decisions []decision
}

func ticketPage(v *visit) (any, error) {
	asset, task := v.query.Get("asset"), v.query.Get("task")
	if asset == "" || task == "" {
		return nil, errors.New("the address of a ticket has an asset and a task")
	}
	read, err := v.Ticket(v, asset, task)
	if err != nil {
		return nil, err
	}
	history, err := v.History(v, asset, task)
	if err != nil {
		return nil, err
	}
	t := ticket{Ticket: read, Why: verdict.Why(read).Words, History: newTimeline(history)}
	t.Drawings = draw(read, history)
	t.Evidence, _ = verdict.EvidenceOf(read) // an agent may have recorded findings in a form of its own: then the facts show them
	t.Evidence.Findings = t.Evidence.Findings[:min(len(t.Evidence.Findings), findingsShown)]
	t.Accepted, _ = verdict.AcceptanceOf(read)
	for name, s := range read.Steps {
		t.Steps = append(t.Steps, step{name, s})
	}
	slices.SortFunc(t.Steps, func(a, b step) int { return a.At.Compare(b.At) })
	for _, name := range slices.Sorted(maps.Keys(read.Delivery)) {
		d := read.Delivery[name]
		t.Channels = append(t.Channels, channel{name, d, decisionsOn(d.Status)})
	}
	return t, nil
}

// AcceptedAt is why the finding at a place did not count, or nil.
func (t ticket) AcceptedAt(place int) *verdict.AcceptedRisk {
	if r, accepted := t.Accepted[place]; accepted {
		return &r
	}
	return nil
}

// Ended says whether it can be reopened.
func (t ticket) Ended() bool {
	return t.State == client.StateFinished || t.State == client.StateFailed
}
