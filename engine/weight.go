// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"

	"github.com/picketd/picket/engine/store"
)

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
