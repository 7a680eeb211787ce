// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/picketd/picket/engine"
)

const (
	stopLimit  = 45 * time.Second // for Stop as Run calls it: less than systemd's 90 s
	callsLimit = 10 * time.Second // of that, for calls in flight
	sendsLimit = 25 * time.Second // of that, for notifications in flight
)

var (
	errStarted = errors.New("the daemon was started before")
	errSignal  = errors.New("the daemon is stopping")
)

// part is something that was started, and how it is stopped.
type part struct {
	name string
	stop func(context.Context) error
}

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
			return errors.Join(err, stopAll(limited, d.parts))
		}
	}
	d.audit.record(engine.AuditEvent{Kind: auditStarted, Reason: "version " + Version().Version})
	return nil
}

// Stop drains, lets calls and notifications in flight end, and stops everything. It frees no live lock, is idempotent, needs
// no Start and is bounded by ctx.
func (d *Daemon) Stop(ctx context.Context) error {
	d.mu.Lock()
	parts := d.parts
	if d.phase == fresh {
		parts = []part{{"Redis", d.closeRedis}}
	} else if d.phase != started {
		parts = nil
	}
	d.phase, d.parts = stopped, nil
	d.mu.Unlock()
	return stopAll(ctx, parts)
}

// stopAll stops the last part first.
func stopAll(ctx context.Context, parts []part) error {
	var errs []error
	for i := len(parts) - 1; i >= 0; i-- {
		if err := parts[i].stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("cannot stop %s cleanly: %w", parts[i].name, err))
		}
	}
	return errors.Join(errs...)
}

// onStop adds a part that was started.
func (d *Daemon) onStop(name string, stop func(context.Context) error) {
	d.parts = append(d.parts, part{name, stop})
}

// background runs work until the daemon stops.
func (d *Daemon) background(name string, work func(context.Context)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { work(ctx) })
	d.onStop(name, func(context.Context) error {
		cancel(errSignal)
		wait.Wait()
		return nil
	})
}
