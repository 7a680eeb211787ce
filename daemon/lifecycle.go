// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/picketd/picket/audit"
)

// stopLimit is for Stop as Run calls it, whatever hangs: a restart must be over long before any claim's trust is. What has not ended
// at its time after the stop began is cut off, as by a crash.
const (
	stopLimit  = 2 * time.Second
	sendsUntil = 800 * time.Millisecond  // notifications in flight; the socket serves meanwhile
	redisUntil = 1400 * time.Millisecond // calls that wait for Redis are told that it does not answer
	callsUntil = 1600 * time.Millisecond // calls in flight
	partsUntil = 1900 * time.Millisecond // all else
)

// cutGrace is what a part gets to return once its time is over.
const cutGrace = 50 * time.Millisecond

var (
	errStarted = errors.New("the daemon was started before")
	errSignal  = errors.New("the daemon is stopping")
)

// part is something that was started, and how it is stopped.
type part struct {
	name  string
	until time.Duration // since the stop began: when it is cut off
	stop  func(context.Context) error
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

// stopAll stops the last part first, and leaves each that does not end in time.
func (d *Daemon) stopAll(ctx context.Context, parts []part) error {
	var errs []error
	begun := time.Now()
	for _, p := range slices.Backward(parts) {
		limited, cancel := context.WithDeadline(ctx, begun.Add(p.until))
		err := p.end(limited)
		if err != nil && limited.Err() != nil {
			d.log.Warn("cut off what did not end in time", "part", p.name, "error", err)
		} else if err != nil {
			errs = append(errs, fmt.Errorf("cannot stop %s cleanly: %w", p.name, err))
		}
		cancel()
	}
	return errors.Join(errs...)
}

// end stops the part, and returns soon after ctx is done in any case.
func (p part) end(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- p.stop(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(cutGrace):
		return ctx.Err()
	}
}

// onStop adds a part that was started.
func (d *Daemon) onStop(name string, stop func(context.Context) error) {
	d.onStopUntil(partsUntil, name, stop)
}

func (d *Daemon) onStopUntil(until time.Duration, name string, stop func(context.Context) error) {
	d.parts = append(d.parts, part{name, until, stop})
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
