// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/picketd/picket/audit"
)

// Run starts, tells systemd, and stops when ctx is done or the daemon cannot go on. It returns nil after a clean stop.
func (d *Daemon) Run(ctx context.Context) error {
	if err := d.start(ctx); ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil // it was told to stop while it waited for Redis
	} else if err != nil {
		return err
	}
	d.notifySystemd(systemd.SdNotifyReady)
	d.log.Info("started", "version", Version().Version, "host", d.config.Host, "id", d.outbox.ID(), "run", d.run)
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-d.failed:
		d.log.Error("cannot go on", "error", failure)
	}
	d.notifySystemd(systemd.SdNotifyStopping)
	d.log.Info("stopping")
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopLimit, errSignal)
	defer cancel()
	err := d.Stop(limited)
	d.log.Info("stopped")
	return errors.Join(failure, err)
}

// Start starts everything, or nothing: what was started before a failure is stopped again. Without Redis it goes on after
// 2 s. A daemon starts once.
func (d *Daemon) Start() error { return d.start(context.Background()) }

func (d *Daemon) start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.phase != fresh {
		return errStarted
	}
	d.phase, d.startedAt = started, time.Now()
	for _, start := range []func(context.Context) error{d.startAudit, d.startRedis, d.startOutbox, d.startParts, d.awaitRedis, d.serve} {
		if err := start(ctx); err != nil {
			d.phase = stopped
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
			defer cancel()
			return errors.Join(err, d.stopAll(limited, d.parts))
		}
	}
	d.audit.Record(audit.Event{Kind: audit.Started, Reason: "version " + Version().Version})
	return nil
}

// Stop drains, lets calls and notifications in flight end, and stops everything. It frees no live lock, is idempotent, needs
// no Start and is bounded by ctx.
func (d *Daemon) Stop(ctx context.Context) error {
	d.mu.Lock()
	parts := d.parts
	if d.phase == fresh {
		parts = []part{{"Redis", partsUntil, d.closeRedis}}
	} else if d.phase != started {
		parts = nil
	}
	d.phase, d.parts = stopped, nil
	d.mu.Unlock()
	return d.stopAll(ctx, parts)
}
