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
	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// ErrNoChannel says that no channel of that name is configured here.
var ErrNoChannel = errors.New("there is no such channel")

// Trial is what became of a test message.
type Trial struct {
	Type   string // of the channel
	ID     string // as it stands in the message
	Took   time.Duration
	Result channel.Result
}

// trialTime is how long a person waits for a test message at most.
const trialTime = 2 * time.Minute

// Test sends a message on a channel that says of itself that it is a test, once, and returns when its time-out, or 2 min, is over at
// the latest. Neither outbox nor ticket know of it. It counts for the channel's rate, not for its breaker. Its error is ErrNoChannel
// or one of the message's making.
func (n *Notifier) Test(ctx context.Context, name, severity string) (Trial, error) {
	ch := n.gates[name]
	if ch == nil {
		return Trial{}, ErrNoChannel
	}
	m := ch.Trial("picket-test/"+rand.Text(), severity)
	t := Trial{Type: ch.Type, ID: channel.ID(m.Key)}
	body, err := ch.Render(m)
	if err != nil {
		return Trial{}, fmt.Errorf("cannot render a test message: %w", err)
	}
	if wait := ch.rates.admit(time.Now()); wait > 0 {
		t.Result = channel.Result{Status: outbox.Pending, RetryAfter: wait, Error: fmt.Sprintf("the channel's rate is used up for %v", wait.Round(time.Second))}
		return t, nil
	}
	limit := min(ch.Attempt, trialTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the time-out of %v is over", limit))
	defer cancel()
	began := time.Now()
	t.Result = ch.Send(ctx, channel.Delivery{Key: m.Key, Body: body})
	t.Took = time.Since(began)
	t.Result.Error = plain.Line(t.Result.Error, channel.MaxError)
	return t, nil
}
