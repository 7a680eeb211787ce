// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// guard runs one command under one claim, and ends it when the claim cannot be relied upon any more: before anyone else can
// hold the lock.
type guard struct {
	client *client.Client
	claim  client.Claim
	errs   io.Writer

	trust    client.Trust  // on CLOCK_BOOTTIME
	killAt   time.Duration // when what is left of the command is killed, on CLOCK_BOOTTIME; set with lost
	lost     string        // why the command is ended; empty while it is not
	released bool          // the command gave the claim back itself and may go on without it
}

// run runs the command to its end and returns its exit code, or 124 when the claim was lost.
func (g *guard) run(path string, argv, env []string) (int, error) {
	// The answer to a claim that had to wait does not tell when the trust began: ask once more.
	switch first := lease.First(context.Background(), g.client, g.claim.ID); {
	case first.Lost != "":
		g.lost = first.Lost
		return exitLost, exitf(exitLost, "the claim on %s was lost (%s) before the command was started", g.claim.Ticket, first.Lost)
	case first.Trust.Until == 0:
		return 0, exitf(exitInternal, "cannot watch the claim on %s: %s", g.claim.Ticket, cmp.Or(lease.Away(first.Err), "the daemon does not answer"))
	default:
		g.trust = first.Trust
	}
	clock, err := lease.NewAlarm()
	if err != nil {
		return 0, err
	}
	defer clock.Stop()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, supervise.Forwarded()...)
	defer signal.Stop(signals)

	ch, err := supervise.StartTree(path, argv, env)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return 0, cannotRun(argv[0], err)
	} else if err != nil {
		return 0, err
	}
	signal.Notify(signals, syscall.SIGCHLD)
	if ch.Terminal {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	sights, watched, deadline := make(chan lease.Sight), make(chan struct{}), g.trust.Until
	go func() {
		defer close(watched)
		lease.Watch(ctx, g.client, g.claim.ID, deadline, sights)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	return g.attend(ch, clock, signals, sights), nil
}

// attend stays with the running command. After every event the deadline is looked at first: this process may have stood
// still.
func (g *guard) attend(ch *supervise.Tree, clock *lease.Alarm, signals <-chan os.Signal, sights <-chan lease.Sight) int {
	clock.Set(g.trust.Until)
	for {
		var s lease.Sight
		var sig os.Signal
		select {
		case <-ch.Ended():
			code := ch.Code()
			if g.lost != "" {
				ch.Sweep(func() bool { return process.Boottime() >= g.killAt })
				return exitLost
			}
			return code
		case seen, ok := <-sights:
			if !ok {
				sights = nil
			}
			s = seen
		case sig = <-signals:
		case <-clock.C:
		}
		if sig == syscall.SIGTSTP && g.lost == "" {
			ch.Suspend()
			// The command stands still as well, so its claim may be looked at anew before the deadline is.
			s, sig = g.look(), syscall.SIGCONT
			g.trust = g.trust.Later(s.Trust)
			clock.Set(g.trust.Until)
		}
		now := process.Boottime()
		switch {
		case g.lost != "":
			if now >= g.killAt {
				ch.Signal(syscall.SIGKILL)
			}
		case g.released:
		case now >= g.trust.Until:
			g.end(ch, clock, s.Lost)
		case s.Lost != "":
			g.end(ch, clock, s.Lost)
		case s.Released:
			g.released = true
		default:
			g.trust = g.trust.Later(s.Trust)
			clock.Set(g.trust.Until)
		}
		if sig == syscall.SIGCHLD {
			ch.ReapOrphans()
		} else if sig != nil {
			ch.Forward(sig.(syscall.Signal))
		}
	}
}

// end begins to end the command. A reason that is not known, because the deadline came first, is asked for meanwhile.
func (g *guard) end(ch *supervise.Tree, clock *lease.Alarm, reason string) {
	g.killAt = g.trust.KillAt(process.Boottime())
	ch.Terminate()
	if reason == "" {
		reason = lease.WhyLost(g.client, g.claim)
	}
	g.lost = reason
	fmt.Fprintf(g.errs, "picket: the claim on %s was lost (%s): the command is ended\n", clean(g.claim.Ticket), clean(reason))
	clock.Set(g.killAt)
}

// look asks once, and does not wait long for a daemon that does not answer.
func (g *guard) look() lease.Sight {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return lease.Look(ctx, g.client, g.claim.ID, 0)
}
