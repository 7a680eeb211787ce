// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

const (
	// followFor is how long a call is repeated that meets a daemon which restarts, or a Redis that is away. A claim is lost
	// sooner, unless its lock is renewed meanwhile.
	followFor  = 2 * time.Minute
	followStep = 100 * time.Millisecond
	// callTimeout bounds one call. What the daemon does of one that was given up, it answers as replayed the next time.
	callTimeout = 10 * time.Second
	backoffMax  = 5 * time.Minute
)

// errUnavailable says that the daemon or Redis was away for longer than followFor.
var errUnavailable = errors.New("a call was repeated for " + plain.About(followFor))

// errSilent says that the daemon, or what runs before it in the kernel, took a call and did not answer. It may be frozen.
var errSilent = fmt.Errorf("%w: it takes calls and has not answered one for %s", client.ErrUnreachable, callTimeout)

// call makes one call, and notes whether it found who answers.
func (a *Agent) call(ctx context.Context, call func(context.Context) error) error {
	err := bounded(ctx, call)
	a.outage.note(a.options.Log, err)
	return err
}

// bounded makes one call.
func bounded(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSilent)
	defer cancel()
	err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// follow makes a call again, with backoff, as long as it fails for a reason that passes. The daemon answers what it has done
// already as replayed.
func (j *job) follow(ctx context.Context, call func(context.Context) error) error {
	start := time.Now()
	j.lease.expect(0)
	for n := 0; ; n++ {
		err := j.a.call(ctx, call)
		if !transient(err) {
			return err
		}
		if time.Since(start) > followFor {
			return fmt.Errorf("%s: %w: %w", orElse(Away(err), "the daemon takes nothing"), errUnavailable, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again.Backoff(n+1, followStep, 5*time.Second)):
		}
	}
}

// transient says whether an error of the API passes by itself: the daemon restarts or is gone for a while, or its Redis is, or the
// user has too much under way.
func transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	if _, ok := errors.AsType[*LostError](err); ok {
		return false
	}
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return true // a connection that broke, or could not be made
	}
	switch p.Code {
	case client.StoreUnavailable, client.OutboxUnavailable, client.Draining, client.TooManyClaims, client.TooManyCalls, client.Internal:
		return true
	}
	return false
}

// isLost says whether an error means that the claim is gone.
func isLost(err error) bool {
	if _, ok := errors.AsType[*LostError](err); ok {
		return true
	}
	p, ok := errors.AsType[*client.Problem](err)
	return ok && IsLost(p.Code)
}
