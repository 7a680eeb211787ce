// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"time"

	"github.com/picketd/picket/engine/store"
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
		return store.CallTimeout
	}
	return max(store.CallTimeout-(served-e.queued), arrivalLeast)
}

// bounded limits what a call asks Redis: by its allowance, or by what is left of that. It goes on when the caller goes away.
func (e *Engine) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(e.allowance())
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(until) {
		until = earlier
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

// untilDrain is a context that ends with ErrDraining, too, when the daemon takes no new claims.
func (e *Engine) untilDrain(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.draining, func() { cancel(ErrDraining) })
	return ctx, func() { stop(); cancel(nil) }
}
