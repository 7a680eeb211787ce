// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

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
	released bool // a finish, or the last step, has ended the claim
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

// follow makes a call again as long as it fails for a reason that passes (Agent.follow).
func (j *job) follow(ctx context.Context, call func(context.Context) error) error {
	j.lease.Expect(0)
	return j.a.follow(ctx, call)
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
			Finish: out.State == client.StateFinished,
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
	j.released = r.Ticket.State == client.StateFinished
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
		argv: argv, stdin: ticket, okExit: okExit, limit: limit, consume: consume, claim: j.lease.Context(),
		env:    lease.Environment(j.a.options.Socket, j.claim, j.ticket),
		stderr: func(line string) { j.log.Info(line, "program", argv[0]) },
	}
	return in.run(ctx)
}

// maxOwn bounds what a command writes in Picket's own form, in bytes.
const maxOwn = 1 << 20

// ownResult runs a command that speaks Picket's own form.
func (j *job) ownResult(ctx context.Context, c *command, okExit []int) (verdict.Record, error) {
	var out verdict.Record
	err := j.command(ctx, c, okExit, maxOwn, false, func(r io.Reader) (err error) {
		out, err = verdict.ReadOwn(r)
		return err
	})
	return out, err
}
