// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// DefaultTTL is how long a lock lives without a renewal, unless it is configured otherwise.
const DefaultTTL = 15 * time.Second

// Config is what New needs.
type Config struct {
	Redis    redis.UniversalClient
	Urgent   redis.UniversalClient // connections that renewals and the ends of claims share with nothing else. Defaults to Redis
	Replicas store.Replicas        // Defaults to none
	Outbox   *outbox.Store
	Render   func(channel string, m delivery.Message) ([]byte, error)
	Audit    func(audit.Event) // is called for each write, and must not block. Defaults to nothing
	Gate     func() error      // why Redis may not be used for new claims (its settings), or nil. Defaults to never

	// Weigh has the call that ctx is of hold so many bytes until it is answered, or says why it may not. Defaults to nothing.
	Weigh func(ctx context.Context, bytes int64) error
	// Rest is called when the call that ctx is of begins only to wait, and what it returns when it goes on. Defaults to nothing.
	Rest func(ctx context.Context) (again func() error)

	// About is what the fleet is told of this daemon. It must not block. Defaults to nothing
	About func() store.About

	StateDir     string // where the claims are kept for the daemon's next start. Empty: nowhere
	Host         string // a label for people
	Prefix       string // of all keys. Defaults to picket
	Channels     []delivery.Channel
	TTL          time.Duration // of a lock. Defaults to DefaultTTL
	MaxHold      time.Duration // when a claim asks for none. Defaults to 1 h
	MaxHoldLimit time.Duration // Defaults to 24 h
	MaxPerUID    int           // claims. Defaults to 10,000
	Keep         time.Duration // tickets. Defaults to 720 h
	KeepGrants   time.Duration // Defaults to 2160 h

	// Progress is called by the loop that renews, at most once in ProgressEvery and at latest after twice that, as long as the loop
	// goes round and no renewal hangs. Whether Redis answers does not matter. It must not block. Defaults to nothing.
	Progress      func()
	ProgressEvery time.Duration // Defaults to a minute

	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: metrics are kept and shown nowhere
}

func (c *Config) setDefaults() {
	if c.Audit == nil {
		c.Audit = func(audit.Event) {}
	}
	c.Urgent = cmp.Or(c.Urgent, c.Redis)
	if c.Weigh == nil {
		c.Weigh = func(context.Context, int64) error { return nil }
	}
	if c.Rest == nil {
		c.Rest = func(context.Context) func() error { return func() error { return nil } }
	}
	if c.Gate == nil {
		c.Gate = func() error { return nil }
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Prefix = cmp.Or(c.Prefix, "picket")
	c.MaxPerUID = cmp.Or(c.MaxPerUID, 10_000)
	c.TTL = cmp.Or(c.TTL, DefaultTTL)
	c.MaxHold = cmp.Or(c.MaxHold, time.Hour)
	c.MaxHoldLimit = cmp.Or(c.MaxHoldLimit, 24*time.Hour)
	c.Keep = cmp.Or(c.Keep, 720*time.Hour)
	c.KeepGrants = cmp.Or(c.KeepGrants, 2160*time.Hour)
	c.ProgressEvery = cmp.Or(c.ProgressEvery, time.Minute)
}
