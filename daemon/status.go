// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"os"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

const readyLimit = time.Second // for a check that asks Redis

// Ready looks at what the daemon needs to serve: for GET /readyz.
func (d *Daemon) Ready(ctx context.Context) []client.Check {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return []client.Check{
		check("redis", d.engine.Ping(ctx)),
		check("settings", d.settings.gate()),
		check("outbox", d.outbox.Writable()),
		check("identity", d.engine.Identity()),
		check("accepting", d.accepting()),
	}
}

func check(name string, err error) client.Check {
	c := client.Check{Name: name, OK: err == nil}
	if err != nil {
		c.Error = err.Error()
	}
	return c
}

func (d *Daemon) accepting() error {
	if d.engine.Draining() {
		return errSignal
	}
	return nil
}

// Status is what GET /v1/status answers. It may be called from Start until Stop.
func (d *Daemon) Status() client.Status {
	stats := d.outbox.Stats()
	s := client.Status{
		Version: Version().Version, Host: d.config.Host, ID: d.outbox.ID(), Run: d.run, PID: os.Getpid(),
		StartedAt: d.startedAt.UTC(), Ready: true, Draining: d.engine.Draining(),
		Checks: d.Ready(context.Background()), Claims: len(d.engine.Claims(0)),
		Outbox:   client.OutboxStatus{Staged: stats.Staged, Ready: stats.Ready, OldestAgeMS: oldestAge(stats).Milliseconds()},
		Channels: []client.ChannelInfo{}, LockTTLMS: time.Duration(d.config.Lock.TTL).Milliseconds(),
	}
	for _, c := range s.Checks {
		s.Ready = s.Ready && c.OK
	}
	for _, ch := range d.config.Channels {
		s.Channels = append(s.Channels, client.ChannelInfo{
			Name: ch.Name, Type: ch.Type, MinSeverity: ch.MinSeverity, AtMostOnce: ch.AtMostOnce,
		})
	}
	return s
}
