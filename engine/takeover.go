// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

// absent holds when each daemon's sign of life was first missed, by all looks since. Its owner is lookLoop.
type absent map[string]time.Duration

// lookLoop takes over from those that no longer sign. It is not signLoop, because what it does may take longer than a sign lives.
func (e *Engine) lookLoop(ctx context.Context) {
	ticker := time.NewTicker(e.pace.every)
	defer ticker.Stop()
	missed := absent{}
	var said said
	for {
		if !e.steady() {
			clear(missed) // who was away with Redis gets the time to sign again
		} else if err := e.takeOver(ctx, missed); ctx.Err() == nil {
			said.warn(e.log, "cannot look after all daemons that are gone", err)
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
func (e *Engine) takeOver(ctx context.Context, missed absent) error {
	hosts, err := e.redis.SMembers(ctx, e.keys.hosts()).Result()
	if err != nil {
		clear(missed)
		return unavailable(err)
	}
	var failed []error // of one daemon: the others are looked after all the same
	for _, id := range append(hosts, offered) {
		if id == e.box.ID() {
			continue
		}
		lives, err := e.redis.Exists(ctx, e.keys.host(id)).Result()
		if err != nil {
			delete(missed, id)
			failed = append(failed, unavailable(err))
			continue
		}
		since, again := missed[id]
		switch {
		case lives > 0:
			delete(missed, id)
		case !again:
			missed[id] = e.now()
		case e.now()-since >= e.pace.missed:
			if err := e.lookAfter(ctx, id); err != nil {
				failed = append(failed, fmt.Errorf("daemon %s: %w", id, err))
			}
		}
	}
	return errors.Join(failed...)
}

// lookAfter goes through the hints of a daemon that is gone. One that has none is forgotten; it signs again if it comes back.
func (e *Engine) lookAfter(ctx context.Context, gone string) error {
	n, err := e.redis.ZCard(ctx, e.keys.undelivered(gone)).Result()
	switch {
	case err != nil:
		return unavailable(err)
	case n == 0:
		return e.redis.SRem(ctx, e.keys.hosts(), gone).Err()
	}
	return e.eachHint(ctx, gone, func(ctx context.Context, id TicketID, z redis.Z) (bool, error) {
		return e.inherit(ctx, id, gone, z)
	})
}

// inherit takes what it can of one ticket: first what this outbox knows of it onto the ticket, then the content into the outbox,
// and where this daemon has every unsettled channel, its own hint and the ownership. In that order a daemon whose outbox has no room
// owns nothing, and a crash leaves the ticket in a set that is looked through. With only some channels it delivers those, and owner and
// hint stay for others.
func (e *Engine) inherit(ctx context.Context, id TicketID, gone string, z redis.Z) (dropped bool, err error) {
	s, err := e.readWithin(ctx, id)
	if err != nil {
		return false, err
	}
	switch {
	case State(s.fields["state"]) != Notifying && time.Since(time.UnixMilli(int64(z.Score))) < lateWrite:
		return false, nil // a NOTIFYING write of the dead may land yet
	case State(s.fields["state"]) != Notifying || s.fields["owner"] != gone:
		return true, e.drop(ctx, gone, id, z)
	}
	all, some := e.serves(&s)
	if !some {
		return false, nil // pending and visible, for a daemon that has a channel
	}
	if _, err := e.answerFor(ctx, id, &s); err != nil || !all {
		return false, err
	}
	if err := e.hint(ctx, id.String()); err != nil {
		return false, err
	}
	owned, err := e.own(ctx, id, s.fields["intent"], gone, e.box.ID(), "from daemon "+gone)
	if err != nil || !owned {
		return false, err
	}
	e.log.Warn("delivering for a daemon that is gone, or cannot", "ticket", id.String(), "daemon", gone)
	return true, e.drop(ctx, gone, id, z)
}

// answerFor has this outbox answer for a ticket: what is settled here and not there, because the ticket fell back, is told to it, and the
// rest is taken into the outbox.
func (e *Engine) answerFor(ctx context.Context, id TicketID, s *snapshot) (told bool, err error) {
	in, err := e.box.Get(outbox.Ref{Ticket: id.String(), ID: s.fields["intent"]})
	if err == nil {
		told, err = e.putBack(ctx, in, s)
	}
	if err != nil && !errors.Is(err, outbox.ErrNotFound) {
		return told, err
	}
	if err := e.adopt(id, s); err != nil {
		return told, fmt.Errorf("%w: %w", ErrOutboxUnavailable, err)
	}
	return told, nil
}

// serves reports whether this daemon has all, and whether it has some, of the ticket's unsettled channels, by name and type.
func (e *Engine) serves(s *snapshot) (all, some bool) {
	all = true
	for _, name := range strings.Fields(s.fields["channels"]) {
		if outbox.Status(s.fields["delivery."+name]).Settled() {
			continue
		}
		mine := e.channel(name, s.fields["type."+name]) != nil
		all, some = all && mine, some || mine
	}
	return all, some
}

// own gives a ticket another owner if it still has the one that it is known to have, and the same intent.
func (e *Engine) own(ctx context.Context, id TicketID, intent, from, to, why string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	r, err := e.commit(ctx, ownScript, id, audit.Event{Kind: audit.Inherited, Reason: why},
		e.args(id, 0, "", deliverer, "", from, to, intent))
	return err == nil && r.code == codeOK, err
}

// drop removes a hint that nobody put again since its score was read.
func (e *Engine) drop(ctx context.Context, daemon string, id TicketID, z redis.Z) error {
	err := dropHintScript.Run(ctx, e.redis, []string{e.keys.undelivered(daemon)}, id.String(), int64(z.Score)).Err()
	if err != nil {
		return unavailable(err)
	}
	return nil
}
