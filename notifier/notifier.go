// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/outbox"
)

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

// ChannelConfig is one configured channel; daemon fills it from the configuration file, with secrets read.
type ChannelConfig struct {
	Name        string
	Type        string // webhook, exec, log
	URL         string
	Secret      []byte   // webhook: the decoded whsec_ key; nil: not signed
	Command     []string // exec: the argument list
	Timeout     time.Duration
	AtMostOnce  bool
	MinSeverity string
	Flows       []string
	Rate        string
	Insecure    bool
}

// Config is what New needs.
type Config struct {
	Outbox   *outbox.Store
	Channels []ChannelConfig

	// Attempt and Outcome are the two questions to the engine: may this go out now, and this became of it.
	Attempt func(context.Context, outbox.Attempt) (outbox.Answer, error)
	// Outcome reports closed when the ticket needs nothing more from this intent.
	Outcome func(context.Context, outbox.Outcome) (closed bool, err error)

	RetryFirst time.Duration // Defaults to 1 s
	RetryMax   time.Duration // Defaults to 5 min
	GiveUp     time.Duration // Defaults to 24 h

	Boottime func() time.Duration // CLOCK_BOOTTIME
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Notifier sends what the outbox has ready.
type Notifier struct{}

// New checks the channels and wires; it starts nothing.
func New(c Config) (*Notifier, error) { panic("contract") }

// Start begins to send what is due.
func (n *Notifier) Start() { panic("contract") }

// Stop takes no new attempt, lets those in flight end within ctx, and returns. It is idempotent and needs no Start.
func (n *Notifier) Stop(ctx context.Context) error { panic("contract") }

// Render makes a channel's body of a message. The body is frozen on the ticket, the same for every attempt and host.
func (n *Notifier) Render(channel string, m Message) ([]byte, error) { panic("contract") }
