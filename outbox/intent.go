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
	Ticket string // ASSET/TASK
	ID     string // the intent's own random id
}

// Intent is the durable record that a notification must go out for a ticket. Intents of one ticket are told apart by ID.
type Intent struct {
	Ref
	Asset    string // canonical
	Task     string
	Run      int64
	Key      string // the idempotency key: ENC/TASK, from run 2 on ENC/TASK~RUN
	Origin   Origin
	At       time.Time // when it was staged or adopted
	Severity string
	Content  []byte // the notification as JSON, as it stands on the ticket; what a staged intent is done again with

	// Of the claim that staged it: what its fenced write is done again with.
	Token int64
	Nonce string
	Agent string

	Channels map[string]Delivery
}

// Delivery is an intent on one channel.
type Delivery struct {
	Type       string // the channel's type when it was accepted
	AtMostOnce bool
	Body       []byte // frozen; nil in listings and once the intent is closed
	Status     Status
	Attempts   int       // attempts that were made from this outbox, persisted; what backoff is counted from
	Due        time.Time // when it is looked at next, by the host's wall clock
	At         time.Time // when the last attempt ended
	Error      string    // of the last attempt, cut
	Recorded   bool      // the settled status is on the ticket
}
