// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/reach"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// notifyWait is how long an asset waits for its notification's delivery. What takes longer finishes without it.
const notifyWait = 2 * time.Second

// job is one claim's work on one asset.
type job struct {
	a        *Agent
	claim    client.Claim
	ticket   client.Ticket
	taken    time.Time // when the ticket was answered, here
	next     []client.Next
	lease    *lease.Lease
	stopping <-chan struct{} // closes when no further step is to be begun
	log      *slog.Logger

	recorded int  // steps
	released bool // finish has ended the claim
}

// permanent is an error of a step that no retry mends.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// stepError is the failure of a step, recorded in its ticket.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// errStopping says that the run was asked to end.
var errStopping = errors.New("the run was ended")

// take takes over a ticket as a write was answered.
func (j *job) take(t client.Ticket, next []client.Next) {
	j.ticket, j.next, j.taken = t, next, time.Now()
}

// now is the time by Redis' clock, which is that of all times in tickets. This host's may differ.
func (j *job) now() time.Time { return j.ticket.UpdatedAt.Add(time.Since(j.taken)) }

// here is a time in a ticket by this host's clock.
func (j *job) here(t time.Time) time.Time { return time.Now().Add(t.Sub(j.now())) }

func (j *job) values() values {
	return values{Asset: j.ticket.Asset, Task: j.ticket.Task, Ticket: j.ticket.ID}
}

// advance does what is to be done next until nothing is. When the run is to end, no step is begun any more, but what was found
// is told, and what is decided is finished. Its error is a *stepError, a *LostError, a *hostError, errLater, errStopping, or
// of the API.
func (j *job) advance() error {
	if err := j.rests(); err != nil {
		return err
	}
	for {
		c := j.a.config.Step
		var err error
		switch j.ticket.State {
		case client.StateInit:
			err = j.perform(client.StepOnline, c.Online.StepConfig, j.online)
		case client.StateAssetOnline:
			err = j.perform(client.StepVuln, c.Vuln.StepConfig, j.vuln)
		case client.StateVulnCheckDone:
			err = j.judge()
		case client.StateHighRiskFound:
			err = j.notify()
		case client.StateAssetOffline, client.StateNotifying, client.StateNotified:
			err = j.finish()
		default:
			return nil
		}
		if err != nil || j.released {
			return err
		}
	}
}

func (j *job) online(ctx context.Context) (verdict.Record, error) {
	if j.a.plan.online != nil {
		return j.ownResult(ctx, j.a.plan.online, j.a.config.Step.Online.OKExit)
	}
	c := j.a.config.Step.Online
	// It takes its time-out from when the name is resolved.
	r, err := reach.Ask(j.lease.Context(), net.DefaultResolver.LookupNetIP, reach.Question{TCP: c.TCP, ICMP: c.ICMP, Refused: c.Refused, Timeout: time.Duration(c.Timeout)}, j.ticket.Asset)
	return r, blame(err)
}

// judge asks for intelligence where it is needed and is not recorded, else assesses.
func (j *job) judge() error {
	c := j.a.config.Step
	if _, ok := j.ticket.Steps[client.StepIntel]; !ok && j.a.config.hasIntel() {
		e, err := verdict.EvidenceOf(j.ticket)
		needed := false
		if err == nil {
			needed, _, err = j.needsIntel(e)
		}
		if err != nil {
			return j.fail(j.lease.Context(), client.StepIntel, err)
		}
		if needed {
			return j.perform(client.StepIntel, c.Intel.StepConfig, j.intel)
		}
	}
	return j.perform(client.StepAssess, c.Assess.StepConfig, j.assess)
}

// perform does a step, records what came of it, and tries again what failed.
func (j *job) perform(step string, c StepConfig, work func(context.Context) (verdict.Record, error)) error {
	for attempt := 0; ; attempt++ {
		select {
		case <-j.stopping:
			return errStopping
		default:
		}
		err := j.try(step, time.Duration(c.Timeout), work)
		if err == nil {
			return nil
		}
		outlived, left := errors.AsType[*outlivedError](err)
		switch {
		case left && !j.lease.Lost():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(j.lease.Context()), releaseTimeout) // the second signal has ended it
			defer cancel()
			return j.fail(ctx, step, outlived)
		case j.lease.Context().Err() != nil:
			if left {
				j.log.Warn("a command could not be ended", "step", step, "error", outlived.Error())
			}
			return context.Cause(j.lease.Context())
		case errors.Is(err, errLater), errors.Is(err, errUnavailable), isHost(err), lease.IsLost(err):
			return err
		}
		failed := j.fail(j.lease.Context(), step, err)
		if _, ok := errors.AsType[*stepError](failed); !ok {
			return failed // it could not be recorded
		}
		if _, never := errors.AsType[permanent](err); never || attempt >= c.Retries || j.tried(step) {
			return failed
		}
		pause := again.Backoff(attempt+1, time.Duration(c.Backoff), backoffMax)
		j.lease.Expect(pause)
		select {
		case <-time.After(pause):
		case <-j.stopping:
			return fmt.Errorf("%w before the next try; %w", errStopping, failed)
		case <-j.lease.Context().Done():
			return context.Cause(j.lease.Context())
		}
	}
}

// try does a step once and records its result.
func (j *job) try(step string, timeout time.Duration, work func(context.Context) (verdict.Record, error)) error {
	late := fmt.Errorf("it took longer than %s", strict.Duration(timeout))
	ctx, cancel := context.WithTimeoutCause(j.lease.Context(), timeout, late)
	defer cancel()
	j.lease.Expect(timeout)
	out, err := work(ctx)
	if err == nil {
		return j.record(step, out)
	}
	if ctx.Err() != nil && j.lease.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return late
	}
	return err
}

// record writes a step's result. What the flow or the API does not take is the step's failure.
func (j *job) record(step string, out verdict.Record) error {
	for _, n := range j.next {
		if n.Step == step && !slices.Contains(n.States, out.State) {
			return permanent{fmt.Errorf("its state is %q, and must be %s", plain.Line(out.State, 0), strings.Join(n.States, " or "))}
		}
	}
	var r client.StepResponse
	err := j.follow(j.lease.Context(), func(ctx context.Context) (err error) {
		r, err = j.a.client.Step(ctx, j.claim.ID, client.StepRequest{
			Step: step, State: out.State, Facts: out.Facts, Summary: plain.Line(out.Summary, verdict.MaxSummary),
		})
		return err
	})
	if p, ok := errors.AsType[*client.Problem](err); ok && (p.Code == client.Invalid || p.Code == client.BadRequest || p.Code == client.BodyTooLarge) {
		return permanent{err}
	}
	if err != nil {
		return err
	}
	j.take(r.Ticket, r.Next)
	j.recorded++
	return nil
}

// fail records a failure and returns it as a *stepError, or what kept it from being recorded.
func (j *job) fail(ctx context.Context, step string, cause error) error {
	text := plain.Line(cause.Error(), verdict.MaxSummary)
	j.log.Warn("a step failed", "step", step, "error", text)
	var r client.FailureResponse
	err := j.follow(ctx, func(ctx context.Context) (err error) {
		r, err = j.a.client.Fail(ctx, j.claim.ID, client.FailureRequest{Step: step, Error: text})
		return err
	})
	if err != nil {
		return err
	}
	j.take(r.Ticket, r.Next)
	return &stepError{step, cause}
}

// notify has people told.
func (j *job) notify() error {
	n, err := j.notification()
	if err != nil {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	var r client.NotificationResponse
	err = j.follow(j.lease.Context(), func(ctx context.Context) (err error) {
		r, err = j.a.client.Notify(ctx, j.claim.ID, n, notifyWait)
		return err
	})
	if _, ok := errors.AsType[*client.Problem](err); ok && !lease.IsLost(err) && !lease.Transient(err) {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	if err != nil {
		return err
	}
	j.take(r.Ticket, nil)
	j.recorded++
	j.log.Info("people are told", "title", n.Title, "state", r.Ticket.State)
	return nil
}

// finish ends ticket and claim. In NOTIFYING the receipts finish the ticket.
func (j *job) finish() error {
	summary := j.ticket.Steps[client.StepAssess].Summary
	if j.ticket.State == client.StateAssetOffline {
		summary = cmp.Or(j.ticket.Steps[client.StepOnline].Summary, "offline")
	}
	var t client.Ticket
	err := j.follow(j.lease.Context(), func(ctx context.Context) (err error) {
		t, err = j.a.client.Finish(ctx, j.claim.ID, plain.Cut(summary, verdict.MaxSummary))
		return err
	})
	if err == nil {
		j.ticket, j.released = t, true
	}
	return err
}

// command runs a step's command. A scanner gets no ticket: some take what is on standard input for targets (nuclei).
func (j *job) command(ctx context.Context, c *command, okExit []int, limit int64, scanner bool, consume func(io.Reader) error) error {
	argv, err := c.fill(j.values())
	if err != nil {
		return permanent{err}
	}
	var ticket []byte
	if !scanner {
		if ticket, err = plain.JSON(j.ticket); err != nil {
			return permanent{err}
		}
	}
	if okExit == nil {
		okExit = []int{0}
	}
	in := invocation{
		argv: argv, stdin: ticket, okExit: okExit, limit: limit, consume: consume,
		env: append(os.Environ(),
			"PICKET_SOCKET="+j.a.options.Socket,
			"PICKET_CLAIM="+j.claim.ID,
			"PICKET_TOKEN="+strconv.FormatInt(j.claim.Token, 10),
			"PICKET_ASSET="+j.claim.Asset,
			"PICKET_TASK="+j.claim.Task,
			"PICKET_TICKET="+j.ticket.ID,
			"PICKET_STATE="+j.ticket.State,
		),
		stderr: func(line string) { j.log.Info(line, "program", argv[0]) },
	}
	return in.run(ctx)
}
