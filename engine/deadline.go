// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
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

// light is up to how large a ticket is answered without being weighed, in bytes.
const light = 64 << 10

// copies is how often a ticket is in memory while a call is answered: as Redis sent it, decoded, and as it is sent on.
const copies = 3

// weigh has a call wait until there is memory for a ticket of a size, or for what a notification's bodies take.
func (e *Engine) weigh(ctx context.Context, size int64) error {
	if size <= light {
		return nil
	}
	err := e.config.Weigh(ctx, copies*size)
	if errors.Is(err, context.DeadlineExceeded) {
		return &store.UnavailableError{Why: "the call's time was over before there was memory for its answer"}
	}
	return err
}

// weighClaim is weigh for a write of a claim, which is answered with its ticket.
func (e *Engine) weighClaim(ctx context.Context, c *claim) error {
	size := c.size.Load()
	if size < 0 { // taken up from an earlier run of the daemon
		ctx, cancel := context.WithTimeout(ctx, e.allowance())
		defer cancel()
		s, err := e.store.Peek(ctx, c.ticket)
		if err != nil {
			return err
		}
		size = s.Size
	}
	return e.weigh(ctx, size)
}
