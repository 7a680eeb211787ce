// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi"
)

// Options is what New needs beside the configuration.
type Options struct {
	Logger *slog.Logger // Defaults to NewLogger(os.Stderr)
	Output io.Writer    // where channels of type log write. Defaults to Logger
	Audit  io.Writer    // where the audit goes, as JSON lines. Defaults to the journal, without one to standard error

	Activated bool // the sockets come from systemd, and one that passes none is an error. Defaults to listening by itself then
}

// New checks the configuration, with the files that it names, and starts nothing. An ErrConfig is a matter of the
// configuration.
func New(c Config, o Options) (*Daemon, error) {
	if err := errors.Join(c.Validate(), c.ownState()); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = NewLogger(os.Stderr)
	}
	client, err := c.Redis.client(0)
	if err != nil {
		return nil, strict.Error{err.Error()}
	}
	urgent, err := c.Redis.client(0)
	if err != nil {
		return nil, strict.Error{err.Error()}
	}
	var kept redis.UniversalClient
	if c.Redis.WaitReplicas > 0 {
		if kept, err = c.Redis.client(time.Duration(c.Redis.WaitTimeout)); err != nil {
			return nil, strict.Error{err.Error()}
		}
	}
	redis.SetLogger(redisLog{o.Logger})
	for _, w := range c.Warnings() {
		o.Logger.Warn(w)
	}
	d := &Daemon{
		config:   c,
		output:   o.Output,
		passed:   o.Activated,
		log:      o.Logger,
		registry: newRegistry(),
		redis:    client,
		urgent:   urgent,
		kept:     kept,
		settings: newSettingsWatch(client, c.Redis, o.Logger),
		run:      rand.Text(),
		failed:   make(chan error, 1),
		beats:    make(chan struct{}, 1),
	}
	d.audit = audit.NewRecorder(d.run, c.Host, o.Audit, o.Logger, d.registry)
	return d, nil
}

// engineConfig is the engine's share of the configuration.
func (d *Daemon) engineConfig(box *outbox.Store, render func(string, delivery.Message) ([]byte, error)) engine.Config {
	c := d.config
	e := engine.Config{
		Redis: d.redis, Urgent: d.urgent, Weigh: sockapi.Weigh, Rest: sockapi.Rest, Outbox: box, Render: render, Audit: d.audit.Record, Gate: d.settings.gate,
		StateDir: c.StateDir, Host: c.Host, Prefix: c.Redis.Prefix, TTL: time.Duration(c.Lock.TTL),
		MaxHold: time.Duration(c.Claims.MaxHold), MaxHoldLimit: time.Duration(c.Claims.MaxHoldLimit), MaxPerUID: c.Claims.MaxPerUID,
		Keep: time.Duration(c.Tickets.Keep), KeepGrants: time.Duration(c.Tickets.KeepGrants),
		Replicas: store.Replicas{
			Number: c.Redis.WaitReplicas, Within: time.Duration(c.Redis.WaitTimeout), GoOn: c.Redis.WaitElse == GoOn, Redis: d.kept,
		},
		About: d.about, Progress: d.progress, ProgressEvery: systemdWatchdog() / 4,
		Logger: d.log, Registry: d.registry,
	}
	for _, ch := range c.Channels {
		e.Channels = append(e.Channels, delivery.Channel{
			Name: ch.Name, Type: ch.Type, MinSeverity: ch.MinSeverity, Flows: ch.Flows, AtMostOnce: ch.AtMostOnce,
		})
	}
	return e
}
