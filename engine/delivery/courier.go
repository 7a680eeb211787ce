// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Channel is what is known here of a configured channel.
type Channel struct {
	Name        string
	Type        string
	MinSeverity string
	Flows       []string // empty: all
	AtMostOnce  bool
}

// Message is what is rendered for a channel. It has the form of notifier.Message, to which daemon converts it.
type Message struct {
	Key      string
	Ticket   string
	Asset    string
	Task     string
	Run      int64
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage
	At       time.Time
}

// Trust says what rests on the daemons' signs of life. lookout has it.
type Trust interface {
	Identity() error                                 // an outbox.ErrUnavailable while another process has this daemon's identity
	Steady() bool                                    // the own signs were written for long enough to judge others
	Unbroken(staged time.Time) bool                  // nobody can have taken over what was staged then, though Redis answers nothing
	Stood(since time.Time) bool                      // the same, and Redis took the signs of this run all the time
	Overdue(context.Context) ([]store.Silent, error) // waits for daemons that are gone
}

// Config is what New needs.
type Config struct {
	Store    *store.Store
	Outbox   *outbox.Store
	Daemon   *store.Daemon // this one
	Trust    Trust
	Channels []Channel
	Render   func(channel string, m Message) ([]byte, error)
	Boot     string // this boot's id
	Now      func() time.Duration
	Logger   *slog.Logger

	// Bounded limits what a call asks Redis, which goes on when the caller goes away; UntilDrain ends when the daemon stops, too.
	Bounded    func(context.Context) (context.Context, context.CancelFunc)
	UntilDrain func(context.Context) (context.Context, func())
	Draining   context.Context                    // ends when the daemon stops
	Rest       func(context.Context) func() error // see engine.Config
}

// Courier brings notifications from a claim into the outbox, and answers for them towards Redis until people are told.
type Courier struct {
	config Config
	store  *store.Store
	box    *outbox.Store
	log    *slog.Logger

	calls   *calls
	hinted  [store.HintShards]atomic.Bool // the sets of own hints that are looked at in each round
	current current
	quiet   quiet
	waits   atomic.Int64 // calls that wait for a delivery
}

// New starts nothing.
func New(c Config) *Courier {
	return &Courier{config: c, store: c.Store, box: c.Outbox, log: c.Logger, calls: newCalls()}
}

// read reads all of a ticket within the time that one call may ask Redis, and peek reads no facts and no bodies.
func (c *Courier) read(ctx context.Context, id store.TicketID) (store.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	return c.store.Read(ctx, id)
}

func (c *Courier) peek(ctx context.Context, id store.TicketID) (store.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	return c.store.Peek(ctx, id)
}

// Request asks for people to be told.
type Request struct {
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil or a valid JSON object
	Channels []string        // empty: those that match severity and flow
	Wait     time.Duration   // for the ticket to leave NOTIFYING
}

// Claim is the one from which people are told.
type Claim struct {
	Ticket  store.TicketID
	Flow    *store.Flow
	Account uint32 // against whose limits it counts
	Token   int64
	Nonce   string
	Agent   string
	Write   func(context.Context, store.ClaimWrite) (store.Written, error) // fenced
}
