// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// absent holds when each daemon's sign of life was first missed, by all looks since. Its owner is takeOverLoop.
type absent map[string]time.Duration

// takeOverLoop takes over from those that no longer sign. It is not the loop that signs, because what it does may take longer than a sign lives.
func (c *Courier) takeOverLoop(ctx context.Context) {
	every, _ := c.config.Trust.Patience()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	missed := absent{}
	said := again.Reminder{Every: time.Hour}
	for {
		if !c.config.Trust.Steady() {
			clear(missed) // who was away with Redis gets the time to sign again
		} else if err := c.takeOver(ctx, missed); ctx.Err() == nil {
			c.warn(&said, "cannot look after all daemons that are gone", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeOver looks for daemons whose sign of life is gone, and through the tickets that they answer for. The set of a living one is
// read by nobody else, so a fleet does not adopt what is merely backing off. A sign must be missed for long enough to be written
// anew in between: one that a shard of a Cluster lost while it was away comes back before that.
func (c *Courier) takeOver(ctx context.Context, missed absent) error {
	hosts, err := c.store.Daemons(ctx)
	if err != nil {
		clear(missed)
		return err
	}
	_, patience := c.config.Trust.Patience()
	var failed []error // of one daemon: the others are looked after all the same
	for _, id := range append(hosts, offered) {
		if id == c.box.ID() {
			continue
		}
		lives, err := c.store.Signs(ctx, id)
		if err != nil {
			delete(missed, id)
			failed = append(failed, err)
			continue
		}
		since, again := missed[id]
		switch {
		case lives:
			delete(missed, id)
		case !again:
			missed[id] = c.config.Now()
		case c.config.Now()-since >= patience:
			if err := c.LookAfter(ctx, id); err != nil {
				failed = append(failed, fmt.Errorf("daemon %s: %w", id, err))
			}
		}
	}
	return errors.Join(failed...)
}

// LookAfter goes through the hints of a daemon that is gone. One that has none is forgotten; it signs again if it comes back.
func (c *Courier) LookAfter(ctx context.Context, gone string) error {
	n, err := c.store.Hinted(ctx, gone)
	switch {
	case err != nil:
		return err
	case n == 0:
		return c.store.ForgetDaemon(ctx, gone)
	}
	return c.eachHint(ctx, gone, func(ctx context.Context, id store.TicketID, hint store.Hint) (bool, error) {
		return c.inherit(ctx, id, gone, hint)
	})
}

// inherit takes what it can of one ticket: first what this outbox knows of it onto the ticket, then the content into the outbox,
// and where this daemon has every unsettled channel, its own hint and the ownership. In that order a daemon whose outbox has no room
// owns nothing, and a crash leaves the ticket in a set that is looked through. With only some channels it delivers those, and owner and
// hint stay for others.
func (c *Courier) inherit(ctx context.Context, id store.TicketID, gone string, hint store.Hint) (dropped bool, err error) {
	s, err := c.read(ctx, id)
	if err != nil {
		return false, err
	}
	switch {
	case s.State() != store.Notifying && time.Since(hint.At()) < lateWrite:
		return false, nil // a NOTIFYING write of the dead may land yet
	case s.State() != store.Notifying || s.Owner() != gone:
		return true, c.store.DropHint(ctx, gone, hint)
	}
	all, some := c.serves(s.Hash)
	if !some {
		return false, nil // pending and visible, for a daemon that has a channel
	}
	if _, err := c.answerFor(ctx, id, s.Hash); err != nil || !all {
		return false, err
	}
	if err := c.store.AddHint(ctx, c.box.ID(), id.String()); err != nil {
		return false, err
	}
	owned, err := c.own(ctx, id, s.Intent(), gone, c.box.ID(), "from daemon "+gone)
	if err != nil || !owned {
		return false, err
	}
	c.log.Warn("delivering for a daemon that is gone, or cannot", "ticket", id.String(), "daemon", gone)
	return true, c.store.DropHint(ctx, gone, hint)
}

// answerFor has this outbox answer for a ticket: what is settled here and not there, because the ticket fell back, is told to it, and the
// rest is taken into the outbox.
func (c *Courier) answerFor(ctx context.Context, id store.TicketID, s store.Hash) (told bool, err error) {
	in, err := c.box.Get(outbox.Ref{Ticket: id.String(), ID: s.Intent()})
	if err == nil {
		told, err = c.putBack(ctx, in, s)
	}
	if err != nil && !errors.Is(err, outbox.ErrNotFound) {
		return told, err
	}
	if err := c.Adopt(id, s); err != nil {
		return told, fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	return told, nil
}

// serves reports whether this daemon has all, and whether it has some, of the ticket's unsettled channels, by name and type.
func (c *Courier) serves(s store.Hash) (all, some bool) {
	all = true
	for _, name := range s.Channels() {
		if s.Status(name).Settled() {
			continue
		}
		mine := c.channel(name, s.Type(name)) != nil
		all, some = all && mine, some || mine
	}
	return all, some
}

// own gives a ticket another owner if it still has the one that it is known to have, and the same intent.
func (c *Courier) own(ctx context.Context, id store.TicketID, intent, from, to, why string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	return c.store.Own(ctx, id, intent, from, to, why)
}
