// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/json"
	"time"

	"github.com/picketd/picket/outbox"
)

// Status says whether a claim is held.
type Status string

// The statuses of a claim.
const (
	Held     Status = "held"
	Lost     Status = "lost"
	Released Status = "released"
)

// Reason says why a claim ended.
type Reason string

// The reasons why a claim ended.
const (
	ReasonReleased    Reason = "released"
	ReasonProcessExit Reason = "process_exit"
	ReasonExpired     Reason = "expired"
	ReasonTaken       Reason = "taken"
	ReasonSilent      Reason = "silent"
	ReasonMaxHold     Reason = "max_hold"
	ReasonStoreReset  Reason = "store_reset"
	ReasonForced      Reason = "forced"
)

// TicketID names a ticket.
type TicketID struct {
	Asset Asset
	Task  string
}

// String is the ticket's id, ASSET/TASK.
func (id TicketID) String() string { return string(id.Asset) + "/" + id.Task }

// Claim is a claim at one moment.
type Claim struct {
	ID        string
	Token     int64
	Ticket    TicketID
	Status    Status
	Reason    Reason        // empty while held
	Trusted   time.Duration // for how long it can be relied upon from now; 0 when ended
	Margin    time.Duration // how much longer the lock stays, at least
	Since     time.Time
	PID       int // 0: no process is watched
	UID       uint32
	Heartbeat time.Duration // 0: none promised
	MaxHold   time.Duration
}

// Holder is who holds an asset. The zero value is nobody.
type Holder struct {
	Host      string
	PID       int
	UID       uint32
	Task      string
	Since     time.Time
	Remaining time.Duration
}

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
	CreatedAt    time.Time
	UpdatedAt    time.Time

	Intent string // the current intent's id
	Owner  string // identity of the daemon that answers for it in NOTIFYING

	bytes int64 // as it was read for a listing
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

// Next is one thing that may come next: a step with the states it may lead to, or notify or finish.
type Next struct {
	Step   string
	States []State
}
