// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picketd/picket/engine/store"
)

const (
	driftMost = time.Second            // by which this host's clock and Redis' may differ
	stepMost  = time.Second            // by which a clock may move against CLOCK_BOOTTIME between two looks
	readMost  = 100 * time.Millisecond // between two clocks that are read at once; else this process was stopped in between
)

// readTime asks a server for its time.
func (l *Lookout) readTime(ctx context.Context, m store.Master) (clockTime, error) {
	wall, sent := l.wall(), l.c.Now()
	t, err := m.Time(ctx)
	if err != nil {
		return clockTime{}, err
	}
	half := (l.c.Now() - sent) / 2
	return clockTime{
		offset: t.Sub(wall.Add(half)), stand: time.Duration(t.UnixNano()) - (sent + half), error: half,
	}, nil
}

// ClockOffset is how far Redis' clock is ahead of this host's, of the master that is furthest off. The round trip is taken off,
// so it never says more than is certain. Errors: store.ErrUnavailable.
func (l *Lookout) ClockOffset(ctx context.Context) (time.Duration, error) {
	masters, err := l.store.Masters(ctx)
	if err != nil {
		return 0, store.Unavailable(err)
	}
	var most time.Duration
	for _, m := range masters {
		t, err := l.readTime(ctx, m)
		if err != nil {
			return 0, store.Unavailable(err)
		}
		if sure := t.certain(); sure.Abs() > most.Abs() {
			most = sure
		}
	}
	return most, nil
}

// certain is what the offset is at least.
func (t clockTime) certain() time.Duration {
	sure := max(t.offset.Abs()-t.error, 0)
	if t.offset < 0 {
		return -sure
	}
	return sure
}

// lookAtHost notices that this host's clock was set.
func (l *Lookout) lookAtHost() {
	before := l.c.Now()
	wall := l.wall()
	if l.c.Now()-before > readMost {
		return
	}
	stand := clockStand(time.Duration(wall.UnixNano()) - before)
	if l.host != nil {
		l.stepped("host", "this host's clock", time.Duration(stand-*l.host), 0)
	}
	l.host = &stand
}

// lookAtClocks measures how far Redis' clocks are from this host's.
func (l *Lookout) lookAtClocks(ctx context.Context, masters []store.Master) error {
	read, errs := make([]clockTime, len(masters)), make([]error, len(masters))
	var wait sync.WaitGroup
	for i, m := range masters {
		wait.Go(func() { read[i], errs[i] = l.readTime(ctx, m) })
	}
	wait.Wait()
	var worst clockTime
	var addr string
	measured := false
	for i, m := range masters {
		if errs[i] != nil {
			continue
		}
		now, name := read[i], clockName(m.Addr)
		if was, known := l.servers[m.Addr]; known {
			l.stepped("redis", name, now.stand-was.stand, now.error+was.error)
		}
		l.servers[m.Addr] = now
		if !measured || now.certain().Abs() > worst.certain().Abs() {
			worst, addr, measured = now, m.Addr, true
		}
	}
	if measured {
		l.metrics.offset.Set(worst.offset.Seconds())
		l.alarms.holds(AlarmClockOffset, worst.complaint(addr))
	}
	return errors.Join(errs...)
}

// complaint is empty unless the clocks differ by more than driftMost for certain.
func (t clockTime) complaint(addr string) string {
	if t.certain().Abs() <= driftMost {
		return ""
	}
	return fmt.Sprintf("%s is %s this host's: times in records and due times are wrong by that, and where a failover changes "+
		"the clock, locks run out early or late; set both by NTP", clockName(addr), ahead(t.offset))
}

// stepped tells of a clock that moved by more than stepMost, give or take what the measure may be wrong by.
func (l *Lookout) stepped(clock, name string, by, wrong time.Duration) {
	if by.Abs()-wrong <= stepMost {
		return
	}
	l.metrics.steps.WithLabelValues(clock).Inc()
	direction := "forward"
	if by < 0 {
		direction = "back"
	}
	meaning := "times in records jump, and notifications that wait are due early or late by that; locks and trust do not follow it"
	if clock == "redis" {
		meaning = "it was set, or another server took over; locks and leases of attempts ran out early or live on by that, while writes stay fenced"
	}
	l.alarms.happened(AlarmClockStep, fmt.Sprintf("%s went %s by %s: %s; let NTP slew clocks, not step them", name, direction,
		by.Abs().Round(time.Millisecond), meaning))
}

func clockName(addr string) string {
	if addr == "" {
		return "Redis' clock"
	}
	return "the clock of Redis at " + addr
}

func ahead(d time.Duration) string {
	side := "ahead of"
	if d < 0 {
		side = "behind"
	}
	return d.Abs().Round(time.Millisecond).String() + " " + side
}
