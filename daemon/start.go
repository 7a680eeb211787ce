// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/notifier"
	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi"
)

// engineGrace is for the engine's last calls to Redis when it stops.
const engineGrace = 100 * time.Millisecond

// startAudit comes first, and so stops last: whatever the others do is told.
func (d *Daemon) startAudit(context.Context) error {
	d.audit.Start(d.config.StateDir)
	d.onStopUntil(auditUntil, "the audit", d.audit.Stop)
	d.audit.Record(audit.Event{Kind: audit.ConfigLoaded, Reason: cmp.Or(d.config.path, "none on disk")})
	return nil
}

// startRedis needs no Redis: the client connects when it is used.
func (d *Daemon) startRedis(context.Context) error {
	d.onStop("Redis", d.closeRedis)
	d.asked = time.Now()
	d.background("the check of Redis' settings", d.settings.run)
	d.background("giving memory back", giveMemoryBack)
	return nil
}

func (d *Daemon) closeRedis(context.Context) error {
	var errs []error
	for _, client := range []redis.UniversalClient{d.redis, d.urgent, d.kept} {
		if client == nil {
			continue
		}
		if err := client.Close(); !errors.Is(err, redis.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// letGoOfRedis ends what waits for Redis at a time, with its connections. It returns what calls that off.
func (d *Daemon) letGoOfRedis(at time.Time) (stop func() bool) {
	return time.AfterFunc(time.Until(at), func() {
		d.engine.GiveUp()
		_ = d.closeRedis(context.Background())
	}).Stop
}

// startOutbox opens the outbox. A damaged one is set aside: locks and tickets are in Redis and do not need it.
func (d *Daemon) startOutbox(context.Context) error {
	if err := os.MkdirAll(d.config.StateDir, 0o700); err != nil {
		return fmt.Errorf("cannot make the state directory: %w", err)
	}
	d.extendStart(openLimit)
	path := filepath.Join(d.config.StateDir, "outbox.db")
	options := outbox.Options{
		MaxSize:     int64(d.config.Outbox.MaxSizeMiB) << 20,
		KeepReceipt: time.Duration(d.config.Tickets.Keep),
		Logger:      d.log,
	}
	store, err := outbox.Open(path, options)
	if errors.Is(err, outbox.ErrDamaged) {
		aside, asideErr := outbox.SetAside(path)
		if asideErr != nil {
			return errors.Join(err, asideErr)
		}
		d.log.Error("the outbox is damaged and was set aside; a new one is made, with another identity: within a minute it takes over from Redis what the old one had not delivered; only receipts that the tickets lack are lost",
			"error", err, "file", aside)
		store, err = outbox.Open(path, options)
	}
	if err != nil {
		return err
	}
	d.outbox = store
	registerOutbox(d.registry, store)
	d.onStop("the outbox", func(context.Context) error { return store.Close() })
	return nil
}

// startParts makes engine and notifier, each of which asks the other.
func (d *Daemon) startParts(ctx context.Context) error {
	var send *notifier.Notifier
	eng, err := engine.New(d.engineConfig(d.outbox, func(name string, m delivery.Message) ([]byte, error) {
		return send.Render(name, channel.Message(m))
	}))
	if err != nil {
		return err
	}
	send, err = notifier.New(notifier.Config{
		Outbox: d.outbox, Channels: d.config.Channels, Files: files{}, Attempt: eng.Attempt, Outcome: eng.Outcome,
		RetryFirst: time.Duration(d.config.Outbox.RetryFirst), RetryMax: time.Duration(d.config.Outbox.RetryMax),
		GiveUp: time.Duration(d.config.Outbox.GiveUp), Boottime: process.Boottime, Boot: process.BootID(), Version: Version().Version,
		Output: d.output, Logger: d.log, Registry: d.registry,
	})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := eng.Enter(limited); err != nil {
		return strict.Error{err.Error()}
	}
	d.engine, d.notifier = eng, send
	d.watchedBySystemd()
	d.onStop("the engine", func(ctx context.Context) error {
		defer d.letGoOfRedis(time.Now().Add(engineGrace))()
		return eng.Stop(ctx)
	})
	eng.Start()
	d.onStop("the notifier", send.Stop)
	send.Start()
	d.startCounting()
	return nil
}

// awaitRedis lets calls wait in the socket's queue until Redis has answered and the claims of an earlier run are taken up: an agent
// that calls while the host boots, or the daemon restarts, should not hear of it. It does not wait for a Redis that is away: the daemon
// serves without an answer after settingsLimit, and without the rest of the claims when none was taken up for adoptLimit.
func (d *Daemon) awaitRedis(ctx context.Context) error {
	limit := time.NewTimer(time.Until(d.asked.Add(settingsLimit)))
	defer limit.Stop()
	select {
	case <-d.settings.known:
		return awaitClaims(ctx, d.engine.Restored(), d.engine.Awaiting, func() { d.extendStart(10 * settingsLimit) })
	case <-limit.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// adoptLimit is how long no claim may be taken up until the daemon serves without. With a stop and with settingsLimit it makes 5 s, which
// is how long a call may wait for an answer. The claims are looked at every adoptLook.
const (
	adoptLimit = time.Second
	adoptLook  = 50 * time.Millisecond
)

// awaitClaims returns when all claims are taken up, or none was for adoptLimit. more is called each time that further ones were.
func awaitClaims(ctx context.Context, all <-chan struct{}, awaiting func() int, more func()) error {
	look := time.NewTicker(adoptLook)
	defer look.Stop()
	left, since := awaiting(), time.Now()
	for {
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		switch now := awaiting(); {
		case now < left:
			left, since = now, time.Now()
			more()
		case time.Since(since) >= adoptLimit:
			return nil
		}
	}
}

// serve opens the socket last, when all that answers calls is there.
func (d *Daemon) serve(context.Context) error {
	server, err := sockapi.New(sockapi.Config{
		Engine: d.engine, Outbox: d.outbox, Status: d.Status, Ready: d.Ready, Warnings: d.Warnings, TestChannel: d.testChannel,
		Audit: d.audit.Record, Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{}),
		AdminGID: d.adminGID(), Version: Version().Version, Logger: d.log, Registry: d.registry,
	})
	if err != nil {
		return err
	}
	listeners, own, err := d.listen()
	if err != nil {
		return err
	}
	watch, unwatch := context.WithCancel(context.Background())
	d.paths = servedPaths(listeners, own)
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { d.fail(server.Serve(l)) })
	}
	serving.Go(func() { d.watchSockets(watch, own == "") })
	d.engine.Serving()
	d.onStopUntil(callsUntil, "the socket", func(ctx context.Context) error {
		unwatch()
		until, _ := ctx.Deadline()
		defer d.letGoOfRedis(until.Add(redisUntil - callsUntil))()
		d.engine.Drain()
		err := server.Shutdown(ctx)
		serving.Wait()
		return err
	})
	// A receiver that hangs takes no time from the agents: sends end while the socket serves.
	d.onStopUntil(sendsUntil, "notifications in flight", d.notifier.Stop)
	return nil
}
