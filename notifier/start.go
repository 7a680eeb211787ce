// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// stopSlack is how long Stop waits for what it had to cut off: a command's TERM and KILL, and the write of its outcome.
const stopSlack = 5 * time.Second

// New checks the channels and wires; it starts nothing. Its errors name the channel and say what would be right.
func New(c Config) (*Notifier, error) {
	if c.Outbox == nil || c.Attempt == nil || c.Outcome == nil || c.Boottime == nil {
		return nil, errors.New("cannot make a notifier without Outbox, Attempt, Outcome and Boottime")
	}
	c.RetryFirst = cmp.Or(c.RetryFirst, DefaultRetryFirst)
	c.RetryMax = cmp.Or(c.RetryMax, DefaultRetryMax)
	c.GiveUp = cmp.Or(c.GiveUp, DefaultGiveUp)
	if c.RetryFirst < 0 || c.RetryMax < c.RetryFirst || c.GiveUp < c.RetryFirst {
		return nil, fmt.Errorf("retry_first (%v) must be positive, and no longer than retry_max (%v) and give_up (%v)",
			c.RetryFirst, c.RetryMax, c.GiveUp)
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Version = cmp.Or(c.Version, "dev")
	n := &Notifier{
		Config: c,
		box:    c.Outbox,
		gates:  map[string]*gate{},
		said:   again.Reminder{Every: sayAgain},
		lanes:  map[string]*lane{"": {most: channel.DefaultWorkers, turns: newTurns()}},
		known:  map[key]struct{}{},
		memos:  map[key]memo{},
		under:  map[errand]struct{}{},
		sooner: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	env := channel.Env{Files: c.Files, Version: c.Version, Output: c.Output, Logger: c.Logger}
	for _, cc := range c.Channels {
		ch, problems := channel.New(cc, env)
		switch {
		case len(problems) > 0:
			return nil, fmt.Errorf("channel %q: %w", cc.Name, strict.Located("", nil, problems))
		case n.gates[cc.Name] != nil:
			return nil, fmt.Errorf("channel %q: the name is used twice; each channel needs its own", cc.Name)
		}
		n.gates[cc.Name] = newGate(ch)
		n.lanes[cc.Name] = &lane{gate: n.gates[cc.Name], most: ch.Workers, turns: newTurns()}
	}
	n.metrics = newMetrics(c.Registry, slices.Collect(maps.Keys(n.gates)))
	n.quit, n.end = context.WithCancel(context.Background())
	n.ctx, n.cut = context.WithCancelCause(context.Background())
	return n, nil
}

// Start begins to send what is due. It does nothing the second time, and after Stop.
func (n *Notifier) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun || n.ended {
		return
	}
	n.begun = true
	go func() {
		defer close(n.done)
		n.loop()
		n.workers.Wait()
	}()
}

// Stop takes no new attempt, lets those in flight end within ctx, and returns. It is idempotent and needs no Start. What has
// not ended by then is cut off, its outcome still written to the outbox, and Stop says so with ctx's error.
func (n *Notifier) Stop(ctx context.Context) error {
	n.mu.Lock()
	if !n.ended {
		n.ended = true
		n.end()
		if !n.begun {
			close(n.done)
		}
	}
	n.mu.Unlock()
	defer n.cut(channel.ErrStopping)
	select {
	case <-n.done:
		return nil
	case <-ctx.Done():
	}
	n.cut(channel.ErrStopping)
	select {
	case <-n.done:
		return fmt.Errorf("cannot wait for the attempts in flight, they were cut off: %w", ctx.Err())
	case <-time.After(stopSlack):
		return fmt.Errorf("cannot end the attempts in flight: %w", ctx.Err())
	}
}

// BreakerOpen reports whether a channel failed so often that only probes go out.
func (n *Notifier) BreakerOpen(name string) bool {
	ch := n.gates[name]
	return ch != nil && ch.breaker.isOpen()
}

// Render makes a channel's body of a message. The body is frozen on the ticket, the same for every attempt and host.
func (n *Notifier) Render(name string, m channel.Message) ([]byte, error) {
	ch := n.gates[name]
	if ch == nil {
		return nil, fmt.Errorf("cannot render for channel %q: it is not configured", name)
	}
	body, err := ch.Render(m)
	if err != nil {
		return nil, fmt.Errorf("cannot render for channel %q: %w", name, err)
	}
	return body, nil
}

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

// work looks at what waits in a lane until nothing does.
func (n *Notifier) work(l *lane) {
	for e, ok := n.take(l); ok; e, ok = n.take(l) {
		k := e.key()
		again := n.look(l.gate, e, k)
		n.mu.Lock()
		delete(n.known, k) // first: a look that comes while it is known passes over it
		if !again.IsZero() {
			n.wakeAtLocked(again)
		}
		n.mu.Unlock()
	}
}
