// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/proof/load"
	"github.com/picketd/picket/proof/stage"
)

// process is what a fault has in hand that stops or ends a process.
func process(name string) string { return "process of " + name }

// onHost has something done to one daemon's process.
func (j job) onHost(ctx context.Context, what func(*stage.Host) blow) error {
	h, give, found := choose(j, j.stage.Hosts, func(h *stage.Host) []string { return []string{process(h.Name)} })
	if !found {
		return nil
	}
	defer give()
	b := what(h)
	b.target = h.Name
	return j.strike(ctx, b)
}

func frozen(h *stage.Host) blow { return blow{begin: plain(h.Freeze), end: plain(h.Thaw)} }

func killed(h *stage.Host) blow { return blow{begin: plain(h.Kill), end: h.Start} }

func lostHost(h *stage.Host) blow { return blow{begin: h.Lose} }

func freezeDaemon(ctx context.Context, j job) error { return j.onHost(ctx, frozen) }

func killDaemon(ctx context.Context, j job) error { return j.onHost(ctx, killed) }

func stopDaemon(ctx context.Context, j job) error {
	return j.onHost(ctx, func(h *stage.Host) blow { return blow{begin: h.Terminate, end: h.Start} })
}

// alive is an error if a daemon has ended by itself, which none may.
func (f *field) alive() error {
	var errs []error
	for _, h := range f.stage.Living() {
		if !h.Running() {
			errs = append(errs, fmt.Errorf("the daemon of %s has ended by itself", h.Name))
		}
	}
	return errors.Join(errs...)
}

// onDisk has something done to the disk of a daemon's state.
func (j job) onDisk(ctx context.Context, what func(*stage.Host) error) error {
	h, give, found := choose(j, j.stage.Hosts, func(h *stage.Host) []string { return []string{"disk of " + h.Name} })
	if !found {
		return nil
	}
	defer give()
	return j.strike(ctx, blow{
		target: h.Name,
		begin:  func(context.Context) error { return what(h) },
		end:    func(context.Context) error { return h.MendDisk() },
	})
}

func fillDisk(ctx context.Context, j job) error { return j.onDisk(ctx, (*stage.Host).FillDisk) }

func readOnlyDisk(ctx context.Context, j job) error { return j.onDisk(ctx, (*stage.Host).ReadOnlyDisk) }

// onProcess has something done to a process of that kind beside a daemon.
func (j job) onProcess(ctx context.Context, kind string, what func(*load.Process) blow) error {
	var candidates []*load.Process
	for _, p := range j.load.Processes() {
		if p.Kind == kind {
			candidates = append(candidates, p)
		}
	}
	p, give, found := choose(j, candidates, func(p *load.Process) []string { return []string{process(p.Name)} })
	if !found {
		return nil
	}
	defer give()
	b := what(p)
	b.target = p.Name
	return j.strike(ctx, b)
}

func killProcess(kind string) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		return j.onProcess(ctx, kind, func(p *load.Process) blow { return blow{begin: plain(p.Kill)} })
	}
}

func freezeProcess(kind string) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		return j.onProcess(ctx, kind, func(p *load.Process) blow { return blow{begin: plain(p.Freeze), end: plain(p.Thaw)} })
	}
}

// patience is for how long a receiver waits to be sent something that it can hang with.
const patience = 4 * time.Second

// asItSends strikes a daemon in the middle of an attempt, as a receiver hangs with it, so that nobody knows whether that arrived. What
// others send there then is answered well. If nobody sends for so long, it strikes any.
func asItSends(what func(*stage.Host) blow) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		sender := j.hangs(ctx)
		i := slices.IndexFunc(j.stage.Hosts, func(h *stage.Host) bool { return h.Name == sender })
		if i < 0 {
			return j.onHost(ctx, what)
		}
		give, taken := j.take(process(sender))
		if !taken {
			return nil
		}
		defer give()
		b := what(j.stage.Hosts[i])
		b.target = sender
		return j.strike(ctx, b)
	}
}

// hangs has the receiver of a channel hang until somebody sends there, and returns that host, or nothing.
func (j job) hangs(ctx context.Context) (sender string) {
	channel, give, found := choose(j, j.receivers.Channels(), func(c stage.Channel) []string { return []string{"mood of " + c.Name} })
	if !found {
		return ""
	}
	defer give()
	j.receivers.Hangs(channel.Name) // of before
	j.receivers.Mood(channel.Name, "hang")
	defer j.receivers.Mood(channel.Name, "ok")
	for until := time.Now().Add(patience); sender == "" && time.Now().Before(until) && pause(ctx, 10*time.Millisecond); {
		sender = j.receivers.Hangs(channel.Name)
	}
	return sender
}

// mood has the receiver of a channel behave so, instead of well.
func mood(how string) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		channel, give, found := choose(j, j.receivers.Channels(), func(c stage.Channel) []string { return []string{"mood of " + c.Name} })
		if !found {
			return nil
		}
		defer give()
		return j.strike(ctx, blow{
			target: channel.Name,
			begin:  plain(func() { j.receivers.Mood(channel.Name, how) }),
			end:    plain(func() { j.receivers.Mood(channel.Name, "ok") }),
		})
	}
}
