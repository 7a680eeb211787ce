// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Attempt decides whether the notifier may send now (see outbox.Verdict). It asks for 5 s in which this process runs. Then it says
// outbox.ErrAway if nobody can have taken the intent over and its ticket named it just before, else a store.ErrUnavailable. Whether the
// own outbox has a receipt, the notifier has looked before: that holds without Redis too.
func (c *Courier) Attempt(ctx context.Context, a outbox.Attempt) (outbox.Answer, error) {
	if err := c.config.Trust.Identity(); err != nil {
		return outbox.Answer{}, err
	}
	asked := c.config.Now()
	answer, err := c.store.Attempt(ctx, a, *c.config.Daemon)
	unbroken := c.config.Trust.Unbroken(c.Staged(a))
	switch {
	case errors.Is(err, outbox.ErrAway) && !unbroken:
		err = &store.UnavailableError{Why: "no answer, and another daemon may have taken over before", Silent: true}
	case errors.Is(err, outbox.ErrAway) && !c.Fresh(a, asked):
		err = &store.UnavailableError{Why: "no answer, and an administrator may have decided otherwise since the ticket last did", Silent: true}
	}
	answer.Sole = answer.Verdict == outbox.Lost && unbroken && !c.current.doubted(a.ID)
	return answer, err
}

// Outcome records what became of an attempt on the ticket. closed: the ticket needs nothing more from this intent. Errors:
// outbox.ErrAway, store.ErrUnavailable.
func (c *Courier) Outcome(ctx context.Context, o outbox.Outcome) (closed bool, err error) {
	return c.store.Outcome(ctx, o, *c.config.Daemon)
}

// Staged is when an intent was staged by this host's clock as it goes now, whatever it was set to since; zero if another boot staged
// it, and At alone where that is not known.
func (c *Courier) Staged(a outbox.Attempt) time.Time {
	switch a.Boot {
	case "":
		return a.At
	case c.config.Boot:
		return time.Now().Add(a.Clock - c.config.Now())
	}
	return time.Time{}
}

// Fresh reports whether an intent may go out though Redis answers nothing since it was asked at that time: its ticket had named it
// just before, in this run of the daemon, or in the one before it, when it was staged.
func (c *Courier) Fresh(a outbox.Attempt, asked time.Duration) bool {
	spent := c.config.Now() - asked
	age := time.Since(c.Staged(a)) - spent
	return c.current.since(a.ID, asked-currentFor) || age >= 0 && age < currentFor
}
