// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/outbox"
)

// Ticket is a ticket at one moment.
type Ticket struct {
	ID           TicketID
	Flow         string
	State        State
	Token        int64
	Run          int64
	Revision     int64
	Steps        map[string]Step
	Failure      *Failure
	Notification *Notification
	Delivery     map[string]Delivery
	Holder       *Holder
	Summary      string
	HighRisk     *bool  // nil: this run has not assessed it
	Damaged      string // what of it Redis has lost; empty: nothing
	CreatedAt    time.Time
	UpdatedAt    time.Time

	Intent string // the current intent's id
	Owner  string // identity of the daemon that answers for it in NOTIFYING

	Bytes int64 // that a listing read of it; elsewhere 0
}

// Holder is who holds an asset. The zero value is nobody.
type Holder struct {
	Host      string
	PID       int
	UID       uint32
	Task      string
	Since     time.Time
	Remaining time.Duration
	Next      string // of a ticket's holder: what comes next from its state, in words
}

// Step is a recorded result; its JSON is what stands in Redis.
type Step struct {
	State   State           `json:"state"`
	Summary string          `json:"summary"`
	Token   int64           `json:"token"`
	Host    string          `json:"host"`
	At      time.Time       `json:"at"`
	Facts   json.RawMessage `json:"facts"` // last, so that what decodes a record needs not look for their end
}

// Failure is the last failure of a step that is not recorded yet; its JSON is what stands in Redis, without Count.
type Failure struct {
	Step  string    `json:"step"`
	Error string    `json:"error"`
	Count int64     `json:"count"`
	Final bool      `json:"final"`
	At    time.Time `json:"at"`
}

// Notification is an accepted content; its JSON is what stands in Redis.
type Notification struct {
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	Severity string          `json:"severity"`
	Facts    json.RawMessage `json:"facts"`
	Channels []string        `json:"channels"`
	At       time.Time       `json:"at"`
}

// Delivery is what became of the notification on one channel.
type Delivery struct {
	Status   outbox.Status
	Attempts int64
	At       time.Time // zero: never tried
	Host     string
	Error    string
}

// Event is one write in a ticket's history.
type Event struct {
	Seq    int64
	At     time.Time
	Event  string
	From   State
	To     State
	Step   string
	Token  int64
	Host   string
	Agent  string
	Reason string
	Facts  json.RawMessage
	Count  int64 // of a refused write, and of an accepted one that stands for several; else 0
}

// WhyFailed names what a FAILED ticket failed at: a step, or the channels that refused. Of any other it is empty.
func (t *Ticket) WhyFailed() string {
	switch {
	case t.State != Failed:
		return ""
	case t.Failure != nil:
		return t.Failure.Step + ": " + t.Failure.Error
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(t.Delivery)) {
		if d := t.Delivery[name]; d.Status == outbox.Dead {
			said = append(said, name+": "+d.Error)
		}
	}
	return strings.Join(said, "; ")
}

// next is what comes next from the ticket's state, in words: the flow's steps, or its one call.
func (t *Ticket) next() string {
	f, err := LookupFlow(t.Flow)
	if err != nil {
		return ""
	}
	var names []string
	for _, n := range f.Next(t.State) {
		if n.Step != FinishCall || len(names) == 0 {
			names = append(names, n.Step)
		}
	}
	return strings.Join(names, " ")
}

func (t *Ticket) dropFacts() {
	for name, step := range t.Steps {
		step.Facts = nil
		t.Steps[name] = step
	}
	if t.Notification != nil {
		t.Notification.Facts = nil
	}
}
