// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/notifier"
	"github.com/picketd/picket/outbox"
)

// Daemon is the whole, wired. It starts once.
type Daemon struct {
	config   Config
	output   io.Writer
	passed   bool // the sockets must be
	log      *slog.Logger
	registry *prometheus.Registry
	redis    redis.UniversalClient
	urgent   redis.UniversalClient // for renewals and the ends of claims
	kept     redis.UniversalClient // for what waits for replicas; nil: nothing does
	settings *settingsWatch
	facts    keptFacts
	asked    time.Time // when Redis was asked first
	audit    *audit.Recorder
	run      string        // this run's random id
	failed   chan error    // capacity 1: why the daemon cannot go on
	beats    chan struct{} // capacity 1: the renewal loop has gone round, which systemd wants to hear

	mu        sync.Mutex // guards what follows
	phase     phase
	startedAt time.Time
	parts     []part // what is started, the last first to stop
	outbox    *outbox.Store
	engine    *engine.Engine
	undecided undecided
	notifier  *notifier.Notifier
	paths     []servedPath
}

// phase is where a Daemon is in its life.
type phase int

const (
	fresh phase = iota
	started
	draining
	stopped
)

// servedPath is a socket as it lay at the start. A cleaner of /tmp may take it away (to systemd-tmpfiles a socket that was renamed
// is not live), or another process may put its own there; the daemon listens on and nobody finds it.
type servedPath struct {
	path string
	made fs.FileInfo
}

// stopLimit is for Stop as Run calls it, whatever hangs: a restart must be over long before any claim's trust is. What has not ended
// at its time after the stop began is cut off, as by a crash.
const (
	stopLimit  = 2 * time.Second
	sendsUntil = 700 * time.Millisecond  // notifications in flight; the socket serves meanwhile
	redisUntil = 1250 * time.Millisecond // calls that wait for Redis are told that it does not answer
	callsUntil = 1400 * time.Millisecond // calls in flight
	partsUntil = 1600 * time.Millisecond // all else but the audit
	auditUntil = 1950 * time.Millisecond // which tells of all that
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

// fail notes why the daemon cannot go on; the first reason is the one.
func (d *Daemon) fail(err error) {
	if err == nil {
		return
	}
	select {
	case d.failed <- err:
	default:
	}
}
