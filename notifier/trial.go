// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/outbox"
)

// ErrNoChannel says that no channel of that name is configured here.
var ErrNoChannel = errors.New("there is no such channel")

// Trial is what became of a test message.
type Trial struct {
	Type   string // of the channel
	ID     string // as it stands in the message
	Took   time.Duration
	Result Result
}

// trialTime is how long a person waits for a test message at most.
const trialTime = 2 * time.Minute

// Test sends a message on a channel that says of itself that it is a test, once, and returns when its time-out, or 2 min, is over at
// the latest. Neither outbox nor ticket know of it. It counts for the channel's rate, not for its breaker. Its error is ErrNoChannel
// or one of the message's making.
func (n *Notifier) Test(ctx context.Context, name, severity string) (Trial, error) {
	ch := n.channels[name]
	if ch == nil {
		return Trial{}, ErrNoChannel
	}
	lang := languages[ch.language]
	m := Message{
		Key: "picket-test/" + rand.Text(), Ticket: "picket/test", Asset: "picket", Task: "test", Run: 1,
		Title: lang.test[0], Text: lang.test[1], Severity: severity, At: time.Now().UTC().Truncate(time.Millisecond),
	}
	t := Trial{Type: ch.kind, ID: shortID(m.Key)}
	body, err := ch.sender.Render(m)
	if err != nil {
		return Trial{}, fmt.Errorf("cannot render a test message: %w", err)
	}
	if wait := ch.rates.admit(time.Now()); wait > 0 {
		t.Result = Result{Status: outbox.Pending, RetryAfter: wait, Error: fmt.Sprintf("the channel's rate is used up for %v", wait.Round(time.Second))}
		return t, nil
	}
	limit := min(ch.timeout, trialTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the time-out of %v is over", limit))
	defer cancel()
	began := time.Now()
	t.Result = ch.sender.Send(ctx, Delivery{Key: m.Key, Body: body})
	t.Took = time.Since(began)
	t.Result.Error = plain.Line(t.Result.Error, maxError)
	return t, nil
}
