// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import "time"

// Origin says how an intent came to be here, and with it whether it may be sent.
type Origin string

// The origins of an intent.
const (
	Staged    Origin = "staged"    // durable, not sendable: its NOTIFYING write is not confirmed
	Committed Origin = "committed" // sendable; this daemon's own NOTIFYING write was confirmed
	Adopted   Origin = "adopted"   // sendable; the content was taken from the ticket
	Closed    Origin = "closed"    // dealt with: the content is gone, the receipts are left
)

// Status is what became of an intent on one channel; the same words stand on the ticket.
type Status string

// The statuses of a channel. From Sent on, but for Unknown, it is settled or waits for a person.
const (
	Pending   Status = "pending"
	Sending   Status = "sending"
	Sent      Status = "sent"
	Unknown   Status = "unknown" // an attempt ended without an outcome
	Parked    Status = "parked"  // unknown on an at_most_once channel: a person decides
	Dead      Status = "dead"    // refused for good, or too old
	Discarded Status = "discarded"
)

// Settled reports whether nothing is left to be tried on a channel in status s by this outbox. Parked is settled here: it
// waits for a person.
func (s Status) Settled() bool {
	return s == Sent || s == Parked || s == Dead || s == Discarded
}

// Ref names one intent and no other: the calls that change an entry touch only the one whose id matches.
type Ref struct {
	Ticket string `json:"ticket"` // ASSET/TASK
	ID     string `json:"id"`     // the intent's own random id
}

// Intent is the durable record that a notification must go out for a ticket. Intents of one ticket are told apart by ID. The
// names in its tags are those in the file.
type Intent struct {
	Ref
	Asset    string    `json:"asset"` // canonical
	Task     string    `json:"task"`
	Run      int64     `json:"run"`
	Key      string    `json:"key"` // the idempotency key: ENC/TASK, from run 2 on ENC/TASK~RUN
	Origin   Origin    `json:"origin"`
	At       time.Time `json:"at"` // when it was staged or adopted
	Severity string    `json:"severity"`
	User     string    `json:"user,omitempty"` // the uid of the agent that asked, in decimal; empty for what is adopted or retried

	// When it was staged on CLOCK_BOOTTIME, and in which boot of the host: At is what a clock said that may be set. Not of adopted ones.
	Boot  string        `json:"boot,omitempty"`
	Clock time.Duration `json:"clock,omitempty"`

	Content []byte `json:"-"` // the notification as JSON, as it stands on the ticket; what a staged intent is done again with

	// Of the claim that staged it: what its fenced write is done again with. They leave when the intent is closed.
	Token int64  `json:"token,omitempty"`
	Nonce string `json:"nonce,omitempty"`
	Agent string `json:"agent,omitempty"`

	// After is the intent whose place this one takes because a person said so here; else empty.
	After string `json:"after,omitempty"`

	Channels map[string]Delivery `json:"-"`
}

// Delivery is an intent on one channel.
type Delivery struct {
	Type       string    `json:"type"` // the channel's type when it was accepted
	AtMostOnce bool      `json:"at_most_once,omitempty"`
	Body       []byte    `json:"-"` // frozen; nil in listings and once the intent is closed
	Status     Status    `json:"status"`
	Attempts   int       `json:"attempts"`    // attempts that were made from this outbox, persisted; what backoff is counted from
	Due        time.Time `json:"due"`         // when it is looked at next, by the host's wall clock
	At         time.Time `json:"at,omitzero"` // when the last attempt ended
	Error      string    `json:"error,omitempty"`
	Recorded   bool      `json:"recorded,omitempty"` // the settled status is on the ticket
	Taken      []string  `json:"taken,omitempty"`    // recipients that have it, while others have not
	Lost       bool      `json:"lost,omitempty"`     // no ticket knows of it: Keep and Again
	Unsure     bool      `json:"unsure,omitempty"`   // a person decided about it as parked
	Retried    string    `json:"retried,omitempty"`  // the intent of this run with which a person had it sent once more: this one, or one before it
}

// Waits reports whether a person must decide. Until then the intent stays open, with its content, because Redis may lose the ticket.
func (d *Delivery) Waits() bool { return d.Status == Parked || d.Lost && d.Status == Dead }

// Alone reports whether a person must decide here, because Redis lost the intent: no ticket says that it waits.
func (d *Delivery) Alone() bool { return d.Lost && d.Waits() }
