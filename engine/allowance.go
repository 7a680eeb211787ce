// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"time"
)

// The time that one call may ask Redis, with its retries and with its wait for calls before it; the pause between retries.
const (
	storeTimeout = 4 * time.Second
	retryPause   = 50 * time.Millisecond
)

// Calls that come within arrivals after this run began to serve may have waited in the socket's queue since the run before it
// drained. They get what that left of their time, but arrivalLeast.
const (
	arrivals     = 250 * time.Millisecond
	arrivalLeast = 500 * time.Millisecond
	recentRun    = 10 * time.Second // a run that ended longer ago left nobody in the queue
)

// allowance is how long a call that begins now may ask Redis.
func (e *Engine) allowance() time.Duration {
	served := time.Duration(e.served.Load())
	if served == 0 || e.now()-served > arrivals {
		return storeTimeout
	}
	return max(storeTimeout-(served-e.queued), arrivalLeast)
}

// bounded limits what a call asks Redis: by its allowance, or by what is left of that. It goes on when the caller goes away.
func (e *Engine) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(e.allowance())
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(until) {
		until = earlier
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

// turnstile lets one call through at a time.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// enter waits for the caller's turn. When ctx ends first it is an ErrStoreUnavailable, for those before wait for Redis, or what
// untilDrain says.
func (t turnstile) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		if cause := context.Cause(ctx); errors.Is(cause, ErrDraining) {
			return cause
		}
		return &StoreError{Why: "no answer: calls that came before wait for it, too", silent: true}
	}
}

func (t turnstile) leave() { <-t }
