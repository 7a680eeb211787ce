// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/picketd/picket/outbox"
)

// MaxError bounds in bytes what is kept of an answer or a command's standard error.
const MaxError = 512

// ErrStopping is the cause of an attempt's end when the daemon stops.
var ErrStopping = errors.New("the daemon is stopping")

// Message is what is to be told about a ticket, before it is rendered for a channel.
type Message struct {
	Key      string // the idempotency key
	Ticket   string // ASSET/TASK
	Asset    string
	Task     string
	Run      int64
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil for none
	At       time.Time       // when it was accepted
}

// Sender is a type of channel. Its methods may be called at once.
type Sender interface {
	// Render makes the body, which is frozen then.
	Render(Message) ([]byte, error)
	// Send makes one attempt and returns soon after ctx ends. It knows nothing of leases, backoff and records.
	Send(context.Context, Delivery) Result
}

// Delivery is what a Sender gets for one attempt.
type Delivery struct {
	Key  string // the idempotency key
	Body []byte // frozen, as Render made it

	// Taken are the recipients that have it from earlier attempts. Took records, during an attempt, that these have it and others
	// do not yet; nil: nobody records it.
	Taken []string
	Took  func(all []string)
}

// Result is what became of one attempt, as its sender knows it.
type Result struct {
	Status outbox.Status // Sent, Dead (refused for good), Pending (a known failure) or Unknown (it may have arrived)

	// Doubtful goes with Pending: whoever answered need not know whether it was accepted. An at_most_once channel is not
	// tried again then.
	Doubtful   bool
	Partly     bool          // some recipients have it, and the receiver takes more: it is not its failure
	RetryAfter time.Duration // as the receiver wished, or 0
	Error      string        // without secrets; when sent, empty or who did not get it
}

// unanswered decides what the lack of an HTTP answer means: if nothing of the request went out, nothing can have arrived.
func unanswered(begun bool, reason string) Result {
	if begun {
		return Result{Status: outbox.Unknown, Error: reason}
	}
	return Result{Status: outbox.Pending, Error: reason}
}

// WithDetail puts what somebody else said behind what is told.
func WithDetail(what, detail string) string {
	if detail == "" {
		return what
	}
	return what + ": " + detail
}
