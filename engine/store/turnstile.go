// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
)

// Turnstile lets one call through at a time.
type Turnstile chan struct{}

// NewTurnstile returns one that is free.
func NewTurnstile() Turnstile { return make(Turnstile, 1) }

// Enter waits for the caller's turn. When the context is cancelled for a cause, it is that; when it ends otherwise, an ErrUnavailable, for
// those before wait for Redis.
func (t Turnstile) Enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
			return cause
		}
		return &UnavailableError{Why: "no answer: calls that came before wait for it, too", Silent: true}
	}
}

// Leave ends the caller's turn.
func (t Turnstile) Leave() { <-t }
