// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
)

// New wires and starts nothing.
func New(c Config) (*Engine, error) {
	c.setDefaults()
	e := &Engine{
		config:   c,
		daemon:   &store.Daemon{Run: rand.Text(), Host: c.Host, Channels: delivery.Deliverable(c.Channels)},
		locks:    redsync.New(goredis.NewPool(c.Redis)),
		renewed:  redsync.New(goredis.NewPool(c.Urgent)),
		log:      c.Logger,
		now:      process.Boottime,
		trust:    newTrust(c.TTL),
		restored: make(chan struct{}),
	}
	if c.Outbox != nil { // who only examines Redis has none
		e.daemon.ID = c.Outbox.ID()
	}
	now := func() time.Duration { return e.now() }
	e.draining, e.drain = context.WithCancelCause(context.Background())
	e.life, e.end = context.WithCancel(context.Background())
	e.metrics = newMetrics(c.Registry)
	e.lookout = lookout.New(lookout.Config{
		Outbox: c.Outbox, Daemon: e.daemon, About: c.About, StateDir: c.StateDir, Now: now,
		Alarmed: func(name, message string) { c.Audit(audit.Event{Kind: audit.Alarm, Reason: name + ": " + message}) },
		Logger:  c.Logger, Registry: c.Registry,
	})
	var err error
	e.store, err = store.New(store.Config{
		Redis: c.Redis, Urgent: c.Urgent, Replicas: c.Replicas, Prefix: c.Prefix, Host: c.Host, Keep: c.Keep, KeepGrants: c.KeepGrants, Watch: e.lookout,
		Audit: c.Audit, Logger: c.Logger, Registry: c.Registry,
	})
	if err != nil {
		return nil, err
	}
	e.lookout.Over(e.store)
	e.courier = delivery.New(delivery.Config{
		Store: e.store, Outbox: c.Outbox, Daemon: e.daemon, Trust: e.lookout, Channels: c.Channels, Render: c.Render,
		Boot: process.BootID(), Now: now, Logger: c.Logger, Bounded: e.bounded, UntilDrain: e.untilDrain, Draining: e.draining, Rest: c.Rest,
	})
	e.claims = newRoster(e.metrics.held)
	e.ear = e.store.NewEar(store.EarConfig{Host: c.Host, Freed: func(a store.Asset) { e.queue.notify(a) }, Ended: e.look, Missed: e.lookAtAll})
	e.queue = newQueue(e.metrics.waiting, e.ear)
	e.dog = newWatchdog(e.trust, now, e.renew, e.conclude, func(c *claim) { e.spawn(func(ctx context.Context) { e.free(ctx, c) }) })
	e.processes = newProcesses(e.spawn, e.ended)
	return e, nil
}

// Start takes up the claims that an earlier run left, and begins to renew, to watch and to answer for notifications.
func (e *Engine) Start() {
	e.start.Do(func() {
		records, stamp := e.remember()
		if e.queued = e.now(); e.queued-stamp < recentRun {
			e.queued = stamp
		}
		if len(records) > 0 {
			e.dog.pauseSilence()
		}
		e.spawn(func(ctx context.Context) { e.restoreClaims(ctx, records, stamp) })
		e.spawn(func(ctx context.Context) {
			e.dog.loop(ctx, e.journal.running, &progress{report: e.config.Progress, every: e.config.ProgressEvery})
		})
		e.spawn(e.ear.Listen)
		e.spawn(e.store.KeepIndex)
		e.spawn(e.forget)
		e.spawn(e.lookout.Loop)
		e.spawn(e.lookout.SignLoop)
		for _, loop := range e.courier.Loops() {
			e.spawn(loop)
		}
	})
}

// remember opens the journal. Without one the daemon works too; its claims do not outlive it.
func (e *Engine) remember() (records []record, stamp time.Duration) {
	if e.config.StateDir == "" {
		return nil, 0
	}
	var err error
	if e.journal, records, stamp, err = openJournal(e.config.StateDir, e.records); err != nil {
		e.log.Error("claims will not outlive this run of the daemon", "error", err)
	}
	e.claims.await(records)
	return records, stamp
}

// Serving says that calls are answered from now on. Until then no claim of an earlier run is judged silent.
func (e *Engine) Serving() {
	e.served.Store(int64(e.now()))
	e.dog.resumeSilence()
}

// Drain stops new claims: Claim answers ErrDraining, waiting ones at once. From then on no claim is judged silent.
func (e *Engine) Drain() {
	e.dog.pauseSilence()
	e.drain(ErrDraining)
}

// GiveUp is for a daemon whose time to stop is almost over: calls that wait for an answer of Redis are answered ErrStoreUnavailable
// as soon as the client returns, which who closes it brings about.
func (e *Engine) GiveUp() { e.store.GiveUp() }

// Stop ends all goroutines and frees no live lock: it lives on until its TTL or until the daemon starts again. Stop is
// idempotent and needs no Start.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.Drain()
		e.end()
	})
	done := make(chan error, 1)
	go func() {
		e.work.Wait()
		e.store.Wait()
		e.processes.close()
		done <- e.journal.close()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look looks at once after the claims of this host on an asset.
func (e *Engine) look(a store.Asset) {
	for _, c := range e.claims.of(a) {
		e.dog.hurry(c, 0)
	}
}

// lookAtAll looks after all claims of this host, a thousand a second, or when they are renewed if that is sooner.
func (e *Engine) lookAtAll() {
	for i, c := range e.claims.held(0) {
		e.dog.hurry(c, time.Duration(i)*time.Millisecond)
	}
}
