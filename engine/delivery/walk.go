// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
)

// One daemon of the fleet walks all tickets once an hour, and when Redis lost data. Each looks whether a walk is due as soon as it
// knows which data Redis has, and from then on this often. A daemon that is gone for so long, and answers for nothing, is shown no more.
const (
	forgetAfter = 24 * time.Hour
	walkFirst   = 20 * time.Millisecond
	walkLook    = 30 * time.Second
)

// walkLoop walks when it is due and no other daemon does.
func (c *Courier) walkLoop(ctx context.Context) {
	said := again.Reminder{Every: time.Hour}
	for pause := walkFirst; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if !c.store.Looked() {
			continue
		}
		pause = again.Jitter(walkLook)
		first, err := c.store.BeginWalk(ctx, c.box.ID())
		if err == nil && first {
			err = c.Walk(ctx)
		}
		if ctx.Err() == nil {
			c.warn(&said, "cannot walk through all the tickets; it is tried again soon", err)
		}
	}
}

// Walk goes through all tickets: hints that are missing are put back, and what stands in NOTIFIED without a claim is finished. It
// repairs what a failover or an expiry left, where no script runs by itself.
func (c *Courier) Walk(ctx context.Context) error {
	var failed troubles
	err := c.store.Walk(ctx, func(key string, id store.TicketID, h store.Hash, err error) {
		if err == nil {
			err = c.repair(ctx, id, h)
		}
		if err != nil {
			failed.add(key, err)
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(failed.err(), c.forget(ctx))
}

// forget leaves nothing of daemons that are gone for long, and answer for nothing.
func (c *Courier) forget(ctx context.Context) error {
	members, err := c.store.Fleet(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if !m.Left || m.Quiet < forgetAfter {
			continue
		}
		n, err := c.store.Hinted(ctx, m.ID)
		switch {
		case err != nil:
			return err
		case n > 0:
			err = c.store.Know(ctx, m.ID)
		default:
			_, err = c.store.Forget(ctx, m.Silent)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Courier) repair(ctx context.Context, id store.TicketID, h store.Hash) error {
	switch h.State() {
	case store.Notified:
		return c.store.FinishIdle(ctx, id)
	case store.Notifying:
		owner := h.Owner()
		if owner == "" { // lost with the newest writes: whoever finds it answers for it
			if _, err := c.own(ctx, id, h.Intent(), "", c.box.ID(), "it had no owner any more"); err != nil {
				return err
			}
			owner = c.box.ID()
		}
		if err := c.hint(ctx, c.store.MissHint, owner, id); err != nil {
			return err
		}
		return c.store.Know(ctx, owner)
	}
	return nil
}
