// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"encoding/json"
	"time"
)

// Ticket is the one record of what has been established about an asset in a task.
type Ticket struct {
	ID           string              `json:"id" doc:"ASSET/TASK."`
	Asset        string              `json:"asset"`
	Task         string              `json:"task"`
	Flow         string              `json:"flow"`
	State        string              `json:"state" doc:"The state in the flow."`
	Token        int64               `json:"token" doc:"The token of the newest claim on the ticket."`
	Run          int64               `json:"run" doc:"1; grows by one when the ticket is reopened."`
	Revision     int64               `json:"revision" doc:"The seq of the ticket's newest event."`
	Steps        map[string]Step     `json:"steps" doc:"The recorded steps by name."`
	Failure      *Failure            `json:"failure" doc:"The last failure since the last recorded step, or null."`
	Notification *Notification       `json:"notification" doc:"What is to be told, or null."`
	Delivery     map[string]Delivery `json:"delivery" doc:"What became of the notification, by channel."`
	Holder       *Holder             `json:"holder" doc:"Who has a claim on this ticket, or null."`
	Summary      string              `json:"summary"`
	HighRisk     *bool               `json:"high_risk" doc:"Whether the assessment led to HIGH_RISK_FOUND, or its facts say high_risk: true; null as long as this run has not assessed."`
	CreatedAt    time.Time           `json:"created_at"`
	UpdatedAt    time.Time           `json:"updated_at"`
	Damaged      string              `json:"damaged,omitempty" doc:"What of it Redis has lost. Nobody can claim it; reopening mends it."`
}

// Step is a recorded result.
type Step struct {
	State   string          `json:"state" doc:"The state that the step led to."`
	Facts   json.RawMessage `json:"facts,omitempty" doc:"What was found: a JSON object, its values to the letter as they were given. Left out in listings."`
	Summary string          `json:"summary"`
	Token   int64           `json:"token" doc:"The token of the claim that recorded it."`
	Host    string          `json:"host"`
	At      time.Time       `json:"at"`
}

// Failure is a step that did not succeed.
type Failure struct {
	Step  string    `json:"step"`
	Error string    `json:"error"`
	Count int64     `json:"count" doc:"How often this step failed in a row."`
	Final bool      `json:"final"`
	At    time.Time `json:"at"`
}

// Notification is the content that is to be told, as accepted.
type Notification struct {
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	Severity string          `json:"severity" enum:"info,low,medium,high,critical"`
	Facts    json.RawMessage `json:"facts,omitempty" doc:"As with a step. Left out in listings."`
	Channels []string        `json:"channels"`
	At       time.Time       `json:"at"`
}

// Delivery is what became of a notification on one channel.
type Delivery struct {
	Status   string     `json:"status" enum:"pending,sending,sent,unknown,parked,dead,discarded"`
	Attempts int64      `json:"attempts"`
	At       *time.Time `json:"at" doc:"When the status was last changed by an attempt, or null."`
	Host     string     `json:"host" doc:"The daemon's host that made the last attempt."`
	Error    string     `json:"error" doc:"The last attempt's error, cut; when sent, who did not get it all the same."`
}

// Holder is who holds an asset.
type Holder struct {
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	UID         uint32    `json:"uid"`
	Task        string    `json:"task"`
	Since       time.Time `json:"since"`
	RemainingMS int64     `json:"remaining_ms" doc:"What remains of the lock if it is not renewed."`
	Next        []string  `json:"next,omitempty" doc:"Of a ticket's holder: what comes next from the ticket's state. One of these is under way since the ticket was last written to, unless the agent pauses."`
}

// Event is one accepted write in a ticket's history, or a refused one.
type Event struct {
	Seq    int64           `json:"seq" doc:"From 1, without gaps; 0 for a refused write."`
	At     time.Time       `json:"at"`
	Event  string          `json:"event" doc:"claimed step failure notifying attempt receipt settled notified finished failed released lost reopened"`
	From   string          `json:"from" doc:"The state before."`
	To     string          `json:"to" doc:"The state after, or the one that was refused."`
	Step   string          `json:"step" doc:"The step or the channel, where there is one."`
	Token  int64           `json:"token"`
	Host   string          `json:"host"`
	Agent  string          `json:"agent" doc:"pid/uid of the agent, or the daemon's part that wrote."`
	Reason string          `json:"reason"`
	Facts  json.RawMessage `json:"facts,omitempty" doc:"In a single ticket's history only."`
	Count  int64           `json:"count,omitempty" doc:"How often it came, of a refused write and of an accepted one that stands for several: the same failure again and again, or, once a history has 1,000 events, whatever an agent can repeat without end."`
}

// StepRequest is the body of POST /v1/claims/{id}/steps.
type StepRequest struct {
	Step    string          `json:"step" minLength:"1" maxLength:"64" doc:"The step's name in the flow."`
	State   string          `json:"state" minLength:"1" maxLength:"64" doc:"The state that it leads to."`
	Facts   json.RawMessage `json:"facts,omitempty" doc:"A JSON object, at most 512 KiB and 64 levels."`
	Summary string          `json:"summary,omitempty" form:"text" maxLength:"4096" doc:"A line for people, at most 4 KiB."`
	Finish  bool            `json:"finish,omitempty" doc:"With a step that leads to FINISHED: the claim is released with it, as by …/finish."`
}

// StepResponse answers POST …/steps.
type StepResponse struct {
	Ticket   Ticket `json:"ticket"`
	Next     []Next `json:"next"`
	Replayed bool   `json:"replayed"`
}

// FailureRequest is the body of POST /v1/claims/{id}/failures.
type FailureRequest struct {
	Step  string `json:"step" minLength:"1" maxLength:"64" doc:"The step that did not succeed."`
	Error string `json:"error" form:"text" minLength:"1" maxLength:"4096" doc:"What went wrong, at most 4 KiB."`
	Final bool   `json:"final,omitempty" doc:"True: not to be retried; the ticket becomes FAILED."`
}

// FailureResponse answers POST …/failures.
type FailureResponse struct {
	Ticket Ticket `json:"ticket"`
	Next   []Next `json:"next"`
}

// NotificationRequest is the body of POST /v1/claims/{id}/notification.
type NotificationRequest struct {
	Title    string          `json:"title" minLength:"1" maxLength:"256" doc:"One line, at most 256 bytes."`
	Text     string          `json:"text" form:"text" minLength:"1" maxLength:"32768" doc:"At most 32 KiB."`
	Severity string          `json:"severity" enum:"info,low,medium,high,critical"`
	Facts    json.RawMessage `json:"facts,omitempty" doc:"A JSON object, at most 512 KiB and 64 levels."`
	Channels []string        `json:"channels,omitempty" minItems:"1" maxItems:"64" minLength:"1" maxLength:"64" doc:"Names of channels. Defaults to those that match severity and flow."`
}

// NotificationResponse answers POST …/notification.
type NotificationResponse struct {
	Ticket   Ticket `json:"ticket"`
	Replayed bool   `json:"replayed"`
}

// FinishRequest is the body of POST /v1/claims/{id}/finish; it may be left out.
type FinishRequest struct {
	Summary string `json:"summary,omitempty" form:"text" maxLength:"4096" doc:"At most 4 KiB."`
}

// TicketBody answers GET /v1/tickets/{asset}/{task} and POST …/finish.
type TicketBody struct {
	Ticket Ticket `json:"ticket"`
}

// TicketList answers GET /v1/tickets. Facts are left out. Cursor is empty on the last page.
type TicketList struct {
	Tickets    []Ticket `json:"tickets"`
	Cursor     Cursor   `json:"cursor" nullable:"true" doc:"For the next page; null on the last."`
	Incomplete bool     `json:"incomplete,omitempty" doc:"True: tickets may be missing. Redis lost data, and the daemons have not gone through all tickets since; or its index cannot be written, or a ticket not be read."`
}

// StatesRequest is the body of POST /v1/tickets/states.
type StatesRequest struct {
	IDs []string `json:"ids" form:"ticket" minItems:"1" maxItems:"1000" minLength:"3" maxLength:"385" doc:"ASSET/TASK of each ticket."`
}

// StatesResponse answers POST /v1/tickets/states.
type StatesResponse struct {
	States map[string]*TicketState `json:"states" doc:"By the ids as they were given; null: there is no such ticket."`
}

// TicketState is how far a ticket is.
type TicketState struct {
	State     string    `json:"state"`
	Run       int64     `json:"run"`
	Failed    bool      `json:"failed" doc:"A failure is recorded since the last step, or it is FAILED."`
	UpdatedAt time.Time `json:"updated_at"`
	Damaged   bool      `json:"damaged,omitempty" doc:"Redis has lost some of what it recorded: whatever its state, nobody can rely on it."`
}

// History answers GET /v1/tickets/{asset}/{task}/history, oldest first.
type History struct {
	Events  []Event `json:"events"`
	Refused []Event `json:"refused"`
}
