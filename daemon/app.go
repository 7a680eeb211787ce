// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"log/slog"

	"github.com/picketd/picket/sockapi/client"
)

// Options is what New needs beside the configuration.
type Options struct {
	Logger *slog.Logger // Defaults to NewLogger(os.Stderr)
}

// Daemon is the whole, wired.
type Daemon struct{}

// New wires and starts nothing. An ErrConfig is a matter of the configuration.
func New(c Config, o Options) (*Daemon, error) { panic("contract") }

// Run starts, tells systemd, and stops when ctx is done. It returns nil after a clean stop.
func (d *Daemon) Run(ctx context.Context) error { panic("contract") }

// Start starts everything, or nothing.
func (d *Daemon) Start() error { panic("contract") }

// Stop stops everything and frees no live lock. It is idempotent, needs no Start and is bounded by ctx.
func (d *Daemon) Stop(ctx context.Context) error { panic("contract") }

// Status is what GET /v1/status answers.
func (d *Daemon) Status() client.Status { panic("contract") }
