// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

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

const (
	restSets = 2         // how many times over its tries (1 + retries) a step may fail, on whatever hosts, until it rests
	restFor  = time.Hour // from its last failure on, until it is tried once more
)

// rests returns the failure of a ticket that has failed so often, here and on other hosts, that it is left alone for a while;
// else nil.
func (j *job) rests() error {
	f := j.ticket.Failure
	if f == nil || j.a.options.Again || f.Count < int64(restSets*(j.retries(f.Step)+1)) {
		return nil
	}
	// The time is of the host on which it failed. Of one whose clock is wrong by more than the rest, it means nothing.
	if time.Since(f.At).Abs() >= restFor {
		return nil
	}
	return &stepError{f.Step, fmt.Errorf("failed %d times, last at %s, and is tried again from %s on, or at once with --again: %s",
		f.Count, f.At.Local().Format(time.TimeOnly), f.At.Add(restFor).Local().Format(time.TimeOnly), f.Error)}
}

// tried says whether a step has failed as often as one host tries it, on whatever hosts: whoever comes next tries it once.
func (j *job) tried(step string) bool {
	f := j.ticket.Failure
	return f != nil && f.Step == step && f.Count > int64(j.retries(step))
}

func (j *job) retries(step string) int {
	c := j.a.config.Step
	switch step {
	case client.StepOnline:
		return c.Online.Retries
	case client.StepVuln:
		return c.Vuln.Retries
	case client.StepIntel:
		return c.Intel.Retries
	case client.StepAssess:
		return c.Assess.Retries
	case client.StepGather:
		return gatherRetries
	}
	return 0 // notify, which has none: its failure is of the configuration
}
