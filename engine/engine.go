// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/outbox"
)

// Channel is what the engine knows of a configured channel.
type Channel struct {
	Name        string
	Type        string
	MinSeverity string
	Flows       []string // empty: all
	AtMostOnce  bool
}

// Message is what is rendered for a channel. It has the form of notifier.Message, which daemon converts it to.
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

// Config is what New needs.
type Config struct {
	Redis  redis.UniversalClient
	Outbox *outbox.Store
	Render func(channel string, m Message) ([]byte, error)

	Host         string // a label for people
	Prefix       string // of all keys. Defaults to picket
	Channels     []Channel
	TTL          time.Duration // of a lock. Defaults to 15 s
	MaxHold      time.Duration // when a claim asks for none. Defaults to 1 h
	MaxHoldLimit time.Duration // Defaults to 24 h
	MaxPerUID    int           // claims. Defaults to 10,000
	Keep         time.Duration // tickets. Defaults to 720 h
	KeepGrants   time.Duration // Defaults to 2160 h

	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Engine holds this host's claims.
type Engine struct{}

// New wires and starts nothing.
func New(c Config) (*Engine, error) { panic("contract") }

// Start begins to renew, to watch and to settle.
func (e *Engine) Start() { panic("contract") }

// Drain stops new claims: Claim answers ErrDraining, waiting ones at once.
func (e *Engine) Drain() { panic("contract") }

// Stop ends all goroutines and frees no live lock. It is idempotent and needs no Start.
func (e *Engine) Stop(ctx context.Context) error { panic("contract") }

// Ping asks Redis for a sign of life, for readiness.
func (e *Engine) Ping(ctx context.Context) error { panic("contract") }

// Peer is the agent's side of a connection, as the kernel tells it.
type Peer struct {
	UID     uint32
	PID     int
	Process *Process // nil when it could not be opened
	Foreign bool     // it is in another PID namespace: a pid that it names means nothing here
}

// ClaimRequest asks for a claim. The durations are checked against their limits by Claim.
type ClaimRequest struct {
	Asset     Asset
	Task      string
	Flow      string // empty: asset-inference
	Wait      time.Duration
	PID       int // 0: none named
	Heartbeat time.Duration
	MaxHold   time.Duration
	Peer      Peer
}

// ClaimResult is a granted claim, or, when Claim is nil, a terminal ticket that needs none.
type ClaimResult struct {
	Claim  *Claim
	Ticket Ticket
	Next   []Next
}

// Claim screens, locks, mints.
//
// Errors: *HeldError, *InvalidError, ErrUnknownFlow, ErrFlowMismatch, ErrTooManyClaims, ErrForbidden, ErrDraining,
// ErrStoreUnavailable, or the context's own.
func (e *Engine) Claim(ctx context.Context, r ClaimRequest) (ClaimResult, error) { panic("contract") }

// Claims returns the held claims of uid, or of everybody for root (0), oldest first.
func (e *Engine) Claims(uid uint32) []Claim { panic("contract") }

// GetClaim returns a claim of uid (root: anyone's). Of another's it says ErrForbidden, of an unknown one ErrClaimNotFound.
func (e *Engine) GetClaim(id string, uid uint32) (Claim, error) { panic("contract") }

// WatchClaim returns the claim when its status is or becomes other than held, at latest after min(wait, TTL/3) with the
// trust that is left then.
func (e *Engine) WatchClaim(ctx context.Context, id string, uid uint32, wait time.Duration) (Claim, error) {
	panic("contract")
}

// Heartbeat counts as a sign of life. Errors: as GetClaim, and *LostError when the claim ended. The other calls on a claim
// count too.
func (e *Engine) Heartbeat(ctx context.Context, id string, uid uint32) (Claim, error) {
	panic("contract")
}

// StepRequest records a step.
type StepRequest struct {
	Step    string
	State   State
	Facts   json.RawMessage // nil or a valid JSON object
	Summary string
}

// WriteResult is a ticket after a write.
type WriteResult struct {
	Ticket   Ticket
	Next     []Next
	Replayed bool
}

// Step records a step's result, once.
//
// Errors of all writes: ErrClaimNotFound, ErrForbidden, *LostError, ErrStaleToken, *TransitionError, ErrStoreUnavailable; of
// this one also ErrUnknownStep and ErrStepConflict.
func (e *Engine) Step(ctx context.Context, id string, uid uint32, r StepRequest) (WriteResult, error) {
	panic("contract")
}

// FailureRequest records a failure.
type FailureRequest struct {
	Step  string
	Error string
	Final bool
}

// Fail records that a step failed; a final one moves the ticket to FAILED.
func (e *Engine) Fail(ctx context.Context, id string, uid uint32, r FailureRequest) (WriteResult, error) {
	panic("contract")
}

// NotificationRequest asks for people to be told.
type NotificationRequest struct {
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil or a valid JSON object
	Channels []string        // empty: those that match severity and flow
	Wait     time.Duration   // for the ticket to leave NOTIFYING
}

// Notify accepts a notification: when it returns without an error, the intent is committed in this host's outbox, or the
// ticket has left NOTIFYING. Also ErrUnknownChannel, ErrContentConflict, ErrOutboxUnavailable.
func (e *Engine) Notify(ctx context.Context, id string, uid uint32, r NotificationRequest) (WriteResult, error) {
	panic("contract")
}

// Finish moves the ticket to FINISHED and releases the claim; in NOTIFYING it only releases, and the receipts finish the
// ticket. On a claim that it ended before it answers as before.
func (e *Engine) Finish(ctx context.Context, id string, uid uint32, summary string) (Ticket, error) {
	panic("contract")
}

// Release ends a claim and leaves the ticket as it is (NOTIFIED becomes FINISHED). On a claim that it ended it succeeds.
func (e *Engine) Release(ctx context.Context, id string, uid uint32) error { panic("contract") }

// Ticket reads a ticket without a lock, or ErrTicketNotFound.
func (e *Engine) Ticket(ctx context.Context, id TicketID) (Ticket, error) { panic("contract") }

// History reads a ticket's accepted writes, oldest first, and its refused ones.
func (e *Engine) History(ctx context.Context, id TicketID) (events, refused []Event, err error) {
	panic("contract")
}

// TicketQuery selects tickets.
type TicketQuery struct {
	Asset  Asset // empty: all
	State  State // empty: all
	Limit  int   // 1 to 1000
	Cursor string
}

// Tickets lists tickets, the one written last first, without facts. The cursor is empty on the last page. A cursor that it
// did not make is an *InvalidError.
func (e *Engine) Tickets(ctx context.Context, q TicketQuery) (tickets []Ticket, cursor string, err error) {
	panic("contract")
}

// Attempt decides whether the notifier may send now (see outbox.Verdict). It asks for at most 5 s, then outbox.ErrAway.
func (e *Engine) Attempt(ctx context.Context, a outbox.Attempt) (outbox.Answer, error) {
	panic("contract")
}

// Outcome records what became of an attempt on the ticket. closed: the ticket needs nothing more from this intent.
func (e *Engine) Outcome(ctx context.Context, o outbox.Outcome) (closed bool, err error) {
	panic("contract")
}
