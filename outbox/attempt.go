// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"time"
)

// ErrAway is what an Attempt or Outcome function answers when the ticket's node has answered nothing for 5 s, in which this process
// did not stand still; to an Attempt only when nobody can have taken the intent over before.
var ErrAway = errors.New("the store is away")

// Attempt asks for the right to try once. The engine decides it in Redis; the notifier asks.
type Attempt struct {
	Ref
	Asset      string
	Task       string
	Run        int64
	At         time.Time // when the intent was staged
	Boot       string    // the same as Intent.Boot and Intent.Clock
	Clock      time.Duration
	Channel    string
	Number     int           // of the attempt: Delivery.Attempts + 1
	Lease      time.Duration // the channel's time-out + 10 s
	AtMostOnce bool
}

// Verdict is the answer to an Attempt.
type Verdict int

// The verdicts.
const (
	Go         Verdict = iota + 1 // taken: send, within the lease counted from when the question was asked
	Busy                          // another attempt's lease is alive: look again after Answer.Wait
	Done                          // the channel is settled on the ticket, as Answer.Status: do not send, close
	Superseded                    // the ticket has another intent now, or left NOTIFYING: do not send, close
	Lost                          // Redis lost what it had confirmed: send all the same, at_most_once only what nobody can have begun
	Park                          // at_most_once, and what became of an earlier attempt is unknown: parked on the ticket
)

// Answer is a Verdict with what goes with it.
type Answer struct {
	Verdict Verdict
	Wait    time.Duration // with Busy
	Status  Status        // with Done
	Sole    bool          // with Lost: no other daemon can have begun it, as far as its ticket was seen
}

// Outcome is what became of one attempt. It is in the outbox before it goes to the ticket.
type Outcome struct {
	Ref
	Asset   string
	Task    string
	Run     int64
	Key     string
	Channel string
	Number  int
	Status  Status // Sent, Dead, Parked, Unknown, or Pending for a known failure that is tried again
	At      time.Time
	Error   string // cut, without secrets
}
