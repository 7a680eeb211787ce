// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

const readyLimit = time.Second // for a check that asks Redis

// Ready looks at what the daemon needs to serve: for GET /readyz.
func (d *Daemon) Ready(ctx context.Context) []client.Check {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return []client.Check{
		check("redis", d.settings.explained(d.engine.Ping(ctx))),
		check("layout", d.engine.Layout(ctx)),
		check("redis_writes", d.engine.Probe(ctx)),
		check("settings", d.settings.gate()),
		check("outbox", d.outbox.Writable()),
		check("identity", d.engine.Identity()),
		check("socket", d.reachable()),
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

// Warnings are what a person should look at, though the daemon serves: the alarms first.
func (d *Daemon) Warnings() []client.Warning {
	warnings := []client.Warning{}
	for _, a := range d.engine.Alarms() {
		warnings = append(warnings, client.Warning{Name: a.Name, Alarm: true, Message: a.Message, At: &a.At})
	}
	if full, ok := errors.AsType[*outbox.FullError](d.outbox.Full()); ok {
		warnings = append(warnings, client.Warning{Name: "outbox", Message: "no notification is accepted: " + full.Error()})
	}
	if n := d.outbox.Damaged(); n > 0 {
		warnings = append(warnings, client.Warning{Name: "outbox_damaged", Message: fmt.Sprintf("%d records of the outbox were damaged and are taken "+
			"from their tickets again; the log names them: see whether disk and memory are sound", n)})
	}
	for _, message := range d.settings.unwise() {
		warnings = append(warnings, client.Warning{Name: "redis_settings", Message: message})
	}
	for _, message := range d.config.Warnings() { // agents are told neither where secrets are nor what may be changed
		key, _, _ := strings.Cut(message, ": ")
		warnings = append(warnings, client.Warning{Name: "configuration", Message: key + " is unwise: picket daemon --check, or picket doctor as root, says why"})
	}
	return warnings
}

// Status is what GET /v1/status answers. It may be called from Start until Stop.
func (d *Daemon) Status() client.Status {
	stats := d.outbox.Stats()
	s := client.Status{
		Version: Version().Version, Host: d.config.Host, ID: d.outbox.ID(), Run: d.run, PID: os.Getpid(),
		StartedAt: d.startedAt.UTC(), Ready: true, Draining: d.engine.Draining(),
		Checks: d.Ready(context.Background()), Warnings: d.Warnings(),
		Claims:   d.engine.Held(),
		Users:    client.UserClaims{Most: d.engine.MostClaims(), Limit: d.config.Claims.MaxPerUID},
		Outbox:   client.OutboxStatus{Staged: stats.Staged, Ready: stats.Ready, OldestAgeMS: oldestAge(stats).Milliseconds()},
		Channels: []client.ChannelInfo{}, LockTTLMS: time.Duration(d.config.Lock.TTL).Milliseconds(),
		Redis: client.RedisStatus{Mode: d.config.Redis.Mode, Versions: []string{}, Servers: []client.RedisServer{}, Sentinels: []client.RedisSentinel{}}, Fleet: []client.Member{},
	}
	for _, c := range s.Checks {
		s.Ready = s.Ready && c.OK
	}
	for _, ch := range d.config.Channels {
		s.Channels = append(s.Channels, client.ChannelInfo{
			Name: ch.Name, Type: ch.Type, MinSeverity: ch.MinSeverity, AtMostOnce: ch.AtMostOnce,
			BreakerOpen: d.notifier.BreakerOpen(ch.Name),
		})
	}
	if s.Checks[0].OK { // or it would only be waited for once more
		d.askRedis(&s)
	} else {
		d.facts.forget()
	}
	return s
}

// askRedis adds what Redis knows, as far as it answers.
func (d *Daemon) askRedis(s *client.Status) {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	s.Redis = d.facts.get(func() (client.RedisStatus, bool) { return d.config.Redis.facts(ctx, d.redis) })
	if offset, err := d.engine.ClockOffset(ctx); err == nil {
		ms := offset.Milliseconds()
		s.Redis.ClockOffsetMS = &ms
	}
	members, err := d.engine.Fleet(ctx)
	if err != nil {
		return
	}
	for _, m := range members {
		if m.ID != s.ID && !m.Left {
			s.Fleet = append(s.Fleet, client.Member{ID: m.ID, Host: m.Host, Lives: m.Lives})
		}
	}
}
