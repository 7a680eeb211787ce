// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
)

// The pauses between two looks of a call that waits for a delivery; past so many calls that wait, they grow with their number.
const (
	waitFirst = 5 * time.Millisecond
	waitMost  = 200 * time.Millisecond
	waitCalls = 64
)

// Wait waits for the ticket to leave NOTIFYING, at most so long. That Redis does not answer ends the wait: accepted it is.
func (c *Courier) Wait(ctx context.Context, id store.TicketID, most time.Duration) error {
	resume := c.config.Rest(ctx)
	c.waits.Add(1)
	defer c.waits.Add(-1)
	until := time.Now().Add(most)
	for pause := waitFirst; ; pause = min(2*pause, waitMost*time.Duration(1+c.waits.Load()/waitCalls)) {
		left := time.Until(until)
		if left <= 0 {
			return resume()
		}
		select {
		case <-time.After(min(again.Jitter(pause), left)):
		case <-c.config.Draining.Done():
			return resume()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s, err := c.peek(ctx, id)
		if err != nil || s.State() != store.Notifying {
			return resume()
		}
	}
}
