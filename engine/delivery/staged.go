// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// What is staged without a running call, and what is hinted, is looked at this often, of what is staged so many; every so many rounds the
// sets of hints, too, that had none when they were looked at last.
const (
	followEvery = 5 * time.Second
	followMost  = 2000
	sweepAll    = 12
)

// stagedLoop finds out about what crashes and lost replies left: staged intents, and hints. It begins at once, with what an earlier run
// of the daemon left.
func (c *Courier) stagedLoop(ctx context.Context) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	said := again.Reminder{Every: time.Hour}
	for round := 0; ; round++ {
		if err := c.FollowStaged(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot tell what became of staged notifications", "error", err)
		}
		sweep := c.sweepSome
		if round%sweepAll == 0 {
			sweep = c.Sweep
		}
		if err := sweep(ctx); ctx.Err() == nil {
			c.warn(&said, "cannot look through all undelivered tickets", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// FollowStaged finds out what became of what is staged without a running call, of followMost at most.
func (c *Courier) FollowStaged(ctx context.Context) error {
	staged, err := c.box.List(outbox.Staged, followMost)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, in := range staged {
		g.Go(func() error {
			leave, idle := c.calls.enterIdle(ctx, in.Ticket)
			if !idle {
				return nil
			}
			defer leave()
			return c.followTicket(ctx, ticketOf(in))
		})
	}
	return g.Wait()
}

// followTicket finds out what became of a ticket's staged intents, by asking Redis. The caller has entered the ticket's calls, so none is of a call
// that runs. What the replicas lack that are waited for stays staged: store.ErrReplicasMissing.
func (c *Courier) followTicket(ctx context.Context, id store.TicketID) error {
	intents, err := c.box.Ticket(id.String())
	if err != nil {
		c.log.Warn("cannot read the outbox", "ticket", id.String(), "error", err)
		return nil
	}
	for _, in := range intents {
		if in.Origin != outbox.Staged {
			continue
		}
		asked := c.config.Now()
		s, err := c.peek(ctx, id)
		if err != nil {
			return nil // it stays staged, and is asked about again
		}
		switch {
		case s.Intent() == in.ID:
			switch is, err := c.store.Replicated(ctx, id, in.ID); {
			case errors.Is(err, store.ErrReplicasMissing):
				return err
			case !is:
				continue
			}
			if err := c.box.Commit(in.Ref); err != nil {
				c.log.Warn("cannot commit a confirmed notification; it is tried again", "ticket", in.Ticket, "error", err)
			} else if s.State() == store.Notifying && s.Owner() == c.box.ID() {
				c.current.confirm(in.ID, asked)
			}
		case comeToNothing(in, &s):
			c.drop(in.Ref)
		}
	}
	return nil
}

// comeToNothing reports whether the NOTIFYING write of a staged intent can no longer land: the fence would refuse it, or the
// ticket has a notification, or it is too long ago. That of a retry has no fence: it lands while the ticket's intent is the one
// that was read.
func comeToNothing(in outbox.Intent, s *store.Snapshot) bool {
	if in.After != "" {
		state := s.State()
		return state != store.Notifying && state != store.Failed || s.Intent() != in.After || time.Since(in.At) > lateWrite
	}
	return s.Grant.Nonce != in.Nonce || s.Grant.Ticket != in.Ticket || s.Notified() ||
		time.Since(in.At) > lateWrite
}

// stage writes an intent that is not sendable, and then the hint. That comes before the NOTIFYING write, so that another daemon finds
// the ticket if this one dies for good right after it.
func (c *Courier) stage(ctx context.Context, in outbox.Intent) error {
	if err := c.box.Stage(in); err != nil {
		return fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	err := c.hint(ctx, c.store.AddHint, c.box.ID(), ticketOf(in))
	if err != nil {
		c.drop(in.Ref)
	}
	return err
}

// drop is for a staged intent that came to nothing.
func (c *Courier) drop(ref outbox.Ref) {
	if err := c.box.Drop(ref); err != nil {
		c.log.Warn("cannot drop a staged intent; it is tried again", "ticket", ref.Ticket, "error", err)
	}
}
