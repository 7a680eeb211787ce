// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// Engine is what the API needs of *engine.Engine.
type Engine interface {
	Claim(ctx context.Context, r engine.ClaimRequest) (engine.ClaimResult, error)
	Claims(uid uint32) []engine.Claim
	GetClaim(id string, uid uint32) (engine.Claim, error)
	WatchClaim(ctx context.Context, id string, uid uint32, wait time.Duration) (engine.Claim, error)
	Heartbeat(ctx context.Context, id string, uid uint32) (engine.Claim, error)
	Step(ctx context.Context, id string, uid uint32, r engine.StepRequest) (engine.WriteResult, error)
	Fail(ctx context.Context, id string, uid uint32, r engine.FailureRequest) (engine.WriteResult, error)
	Notify(ctx context.Context, id string, uid uint32, r delivery.Request) (engine.WriteResult, error)
	Finish(ctx context.Context, id string, uid uint32, summary string) (store.Ticket, error)
	Release(ctx context.Context, id string, uid uint32) error
	Ticket(ctx context.Context, id store.TicketID) (store.Ticket, error)
	EachEvent(ctx context.Context, id store.TicketID, each func(page []store.Event) error) (refused []store.Event, err error)
	Chunk(ctx context.Context, task string, of []store.Asset) (store.Chunk, error)
	NoteList(ctx context.Context, task, digest string, total int) (map[string]int, error)
	NoteReport(ctx context.Context, n store.ReportNote) (store.Report, error)
	PutPart(ctx context.Context, digest string, part int, of []store.Asset) error
	Part(ctx context.Context, digest string, part int) ([]store.Asset, error)
	Tickets(ctx context.Context, q store.TicketQuery) (store.TicketPage, error)
	Tasks(ctx context.Context, limit int, cursor string) (store.TaskPage, error)
	Task(ctx context.Context, task string) (t store.Task, incomplete bool, err error)
	NewRisks(ctx context.Context, task string) (fresh, compared int64, err error)
	States(ctx context.Context, ids []store.TicketID) ([]store.Stand, error)
	Break(ctx context.Context, a store.Asset, by, reason string) error
	Force(ctx context.Context, id, by string) error
	Reopen(ctx context.Context, id store.TicketID, by, reason string) (store.Ticket, error)
	Retry(ctx context.Context, r delivery.Resolution) (store.Ticket, error)
	Discard(ctx context.Context, r delivery.Resolution) (store.Ticket, error)
	Settle(ctx context.Context, r delivery.Resolution) (store.Ticket, error)
	Fleet(ctx context.Context) ([]store.Member, error)
	Retire(ctx context.Context, id, by, reason string) (store.Member, delivery.Retired, error)
}

// Outbox is what the API needs of *outbox.Store.
type Outbox interface {
	Find(origins []outbox.Origin, status outbox.Status, limit int) (all []outbox.Intent, more bool, err error)
	Ticket(ticket string) ([]outbox.Intent, error)
	Get(ref outbox.Ref) (outbox.Intent, error)
}

// Config is what New needs.
type Config struct {
	Engine   Engine
	Outbox   Outbox
	Status   func() client.Status
	Ready    func(context.Context) []client.Check
	Warnings func() []client.Warning // Defaults to none
	Metrics  http.Handler            // of /metrics

	// TestChannel sends a test message. Its error is engine.ErrUnknownChannel for a name that no channel has.
	TestChannel func(ctx context.Context, name, severity string) (client.ChannelTest, error)

	Audit          func(audit.Event) // is called for each write that was refused, and must not block. Defaults to nothing
	AdminGID       *uint32           // the group whose members are admins, beside root; nil: nobody else
	Version        string            // of the daemon, for the OpenAPI document
	MaxConns       int               // on the socket, at once; further ones are refused. Root and admins have as many beside. Defaults to 8,192
	MaxConnsPerUID int               // of these, one user's. Defaults to 2,048

	Logger   *slog.Logger
	Registry prometheus.Registerer

	document http.Handler // of /v1/openapi.json; New makes it
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	c.MaxConns = cmp.Or(c.MaxConns, 8192)
	c.MaxConnsPerUID = cmp.Or(c.MaxConnsPerUID, 2048)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Audit == nil {
		c.Audit = func(audit.Event) {}
	}
	return c
}

// isAdmin reports whether a peer may make admin calls: root, and members of the admin group, of this host's namespaces.
func (c *Config) isAdmin(p engine.Peer) bool {
	if p.Foreign {
		return false
	}
	return p.UID == 0 || c.AdminGID != nil && slices.Contains(p.Groups, *c.AdminGID)
}
