// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/picketd/picket/agent/plain"
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

// keyed is a header by which a receiver recognises what it has seen.
func keyed(key string) http.Header {
	h := http.Header{}
	h.Set("Idempotency-Key", `"`+key+`"`)
	h.Set(standardwebhooks.HeaderWebhookID, webhookID(key))
	return h
}

// webhookID is msg_ and the first half of the key's SHA-256 in hex: the same for a key on every attempt and from every host,
// and without the dots that part a signature's text.
func webhookID(key string) string { return "msg_" + ID(key) }

// ID is what people recognise a notification by, when it reached them twice: the digits of its webhook-id. Fewer could be made to
// agree with another notification's by whoever chooses assets and tasks.
func ID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// payload is the body of webhook, exec and log, but for facts, which come last in data, to the letter.
type payload struct {
	Type      string      `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      payloadData `json:"data"`
}

type payloadData struct {
	ID       string `json:"id"`
	Asset    string `json:"asset"`
	Task     string `json:"task"`
	Run      int64  `json:"run"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Severity string `json:"severity"`
}

// renderJSON makes the body of m. Facts are spliced in, not encoded: an encoder would change what is signed and compared.
func renderJSON(m Message) ([]byte, error) {
	facts := m.Facts
	if len(facts) == 0 {
		facts = json.RawMessage("{}")
	}
	if !json.Valid(facts) || bytes.TrimLeft(facts, " \t\r\n")[0] != '{' {
		return nil, errors.New("facts must be a JSON object")
	}
	b, err := plain.JSON(payload{
		Type:      "picket.notification",
		Timestamp: m.At.UTC(),
		Data:      payloadData{m.Ticket, m.Asset, m.Task, m.Run, m.Title, m.Text, m.Severity},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the message: %w", err)
	}
	b = append(bytes.TrimSuffix(b, []byte("}}")), `,"facts":`...)
	return append(append(b, facts...), "}}"...), nil
}
