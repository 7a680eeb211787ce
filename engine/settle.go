// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/outbox"
)

// What is staged without a running call, and what is hinted, is looked at this often, so many at once, because each of those on a
// node that is away takes a call's whole time; a write may land this long after its caller gave up.
const (
	settleEvery = 5 * time.Second
	settleBatch = 200
	settleMost  = 2000 // of what is staged
	settleOnce  = 64
	lateWrite   = time.Hour
)

// calls are the notify calls that are under way: one at a time for a ticket.
type calls struct {
	mu       sync.Mutex
	byTicket map[string]*call
}

type call struct {
	turn  turnstile
	users int // guarded by calls.mu
}

func newCalls() *calls { return &calls{byTicket: map[string]*call{}} }

// enter waits for the ticket's turn and returns what ends it. Its error is that of a turnstile.
func (c *calls) enter(ctx context.Context, ticket string) (leave func(), err error) {
	c.mu.Lock()
	k := c.byTicket[ticket]
	if k == nil {
		k = &call{turn: newTurnstile()}
		c.byTicket[ticket] = k
	}
	k.users++
	c.mu.Unlock()
	forget := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(c.byTicket, ticket)
		}
	}
	if err := k.turn.enter(ctx); err != nil {
		forget()
		return nil, err
	}
	return func() {
		k.turn.leave()
		forget()
	}, nil
}

// enterIdle is enter for a ticket that has no call under way or waiting; false: it has, and that settles it first.
func (c *calls) enterIdle(ctx context.Context, ticket string) (leave func(), ok bool) {
	c.mu.Lock()
	busy := c.byTicket[ticket] != nil
	c.mu.Unlock()
	if busy {
		return nil, false
	}
	leave, err := c.enter(ctx, ticket)
	return leave, err == nil
}

// settleLoop settles what crashes and lost replies left: staged intents, and hints. It begins at once, with what an earlier run
// of the daemon left.
func (e *Engine) settleLoop(ctx context.Context) {
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	var said said
	for {
		if err := e.settleStaged(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("cannot settle staged notifications", "error", err)
		}
		if err := e.sweepHints(ctx); ctx.Err() == nil {
			said.warn(e.log, "cannot look through all undelivered tickets", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Engine) settleStaged(ctx context.Context) error {
	staged, err := e.box.List(outbox.Staged, settleMost)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(settleOnce)
	for _, in := range staged {
		g.Go(func() error {
			leave, idle := e.calls.enterIdle(ctx, in.Ticket)
			if !idle {
				return nil
			}
			defer leave()
			e.settleTicket(ctx, TicketID{Asset(in.Asset), in.Task})
			return nil
		})
	}
	return g.Wait()
}

// settleTicket settles a ticket's staged intents by asking Redis. The caller has entered the ticket's calls, so none is of a call
// that runs.
func (e *Engine) settleTicket(ctx context.Context, id TicketID) {
	intents, err := e.box.Ticket(id.String())
	if err != nil {
		e.log.Warn("cannot read the outbox", "ticket", id.String(), "error", err)
		return
	}
	for _, in := range intents {
		if in.Origin != outbox.Staged {
			continue
		}
		asked := e.now()
		s, err := e.lookWithin(ctx, id)
		if err != nil {
			return // it stays staged, and is asked about again
		}
		switch {
		case s.fields["intent"] == in.ID:
			if err := e.box.Commit(in.Ref); err != nil {
				e.log.Warn("cannot commit a confirmed notification; it is tried again", "ticket", in.Ticket, "error", err)
			} else if State(s.fields["state"]) == Notifying && s.fields["owner"] == e.box.ID() {
				e.current.confirm(in.ID, asked)
			}
		case e.comeToNothing(in, &s):
			e.discard(in.Ref)
		}
	}
}

// comeToNothing reports whether the NOTIFYING write of a staged intent can no longer land: the fence would refuse it, or the
// ticket has a notification, or it is too long ago. That of a retry has no fence: it lands while the ticket's intent is the one
// that was read.
func (e *Engine) comeToNothing(in outbox.Intent, s *snapshot) bool {
	if in.After != "" {
		state := State(s.fields["state"])
		return state != Notifying && state != Failed || s.fields["intent"] != in.After || time.Since(in.At) > lateWrite
	}
	return s.grantNonce != in.Nonce || s.grantTicket != in.Ticket || s.fields["digest.notification"] != "" ||
		time.Since(in.At) > lateWrite
}

// sweepHints goes through the tickets that this daemon answers for: it takes those that are undelivered and not in its outbox
// into it, and drops the hints that are no longer needed.
func (e *Engine) sweepHints(ctx context.Context) error {
	return e.eachHint(ctx, e.box.ID(), e.sweepHint)
}

// sweepHint looks at one, and asks Redis for the whole ticket only when the outbox has nothing open for it, and something was written
// to it since there was nothing to do. The score was read before the ticket: a hint that was put again meanwhile has another.
func (e *Engine) sweepHint(ctx context.Context, id TicketID, z redis.Z) (dropped bool, err error) {
	intents, err := e.box.Ticket(id.String())
	if err != nil {
		return false, err
	}
	for _, in := range intents {
		switch {
		case in.Origin == outbox.Closed:
		case in.Origin != outbox.Staged && e.lacks(in.Channels):
			return false, e.passOn(ctx, id, in)
		default: // it is being delivered, or its write may land yet
			return false, e.compare(ctx, in)
		}
	}
	as, err := e.stands(ctx, id)
	if err != nil || e.quiet.is(id, as) {
		return false, err
	}
	s, err := e.readWithin(ctx, id)
	if err != nil {
		return false, err
	}
	e.quiet.note(id, "")
	switch {
	case State(s.fields["state"]) != Notifying:
		return true, e.drop(ctx, e.box.ID(), id, z)
	case s.fields["owner"] != e.box.ID():
		return false, nil
	}
	told, err := e.answerFor(ctx, id, &s)
	if all, _ := e.serves(&s); !all || errors.Is(err, outbox.ErrFull) {
		return false, e.offer(ctx, id, s.fields["intent"])
	}
	if err == nil && !told {
		e.quiet.note(id, as)
	}
	return false, err
}

// compare looks whether the ticket fell back behind what is settled of an open intent, and puts that back.
func (e *Engine) compare(ctx context.Context, in outbox.Intent) error {
	told := false
	for _, d := range in.Channels {
		told = told || d.Status.Settled() && d.Recorded
	}
	if !told {
		return nil
	}
	s, err := e.glance(ctx, in)
	if err != nil {
		return err
	}
	if State(s.fields["state"]) != Notifying || s.fields["intent"] != in.ID {
		return nil
	}
	_, err = e.putBack(ctx, in, &s)
	return err
}

// glance reads what a ticket says of an intent's delivery, and no more.
func (e *Engine) glance(ctx context.Context, in outbox.Intent) (snapshot, error) {
	names := []string{"state", "intent", "intents", "owner"}
	for name := range in.Channels {
		names = append(names, "delivery."+name)
	}
	values, err := e.redis.HMGet(ctx, e.keys.ticket(TicketID{Asset(in.Asset), in.Task}), names...).Result()
	if err != nil {
		return snapshot{}, unavailable(err)
	}
	s := snapshot{fields: map[string]string{}}
	for i, text := range (reply{rest: []any{values}}).texts(0) {
		s.fields[names[i]] = text
	}
	return s, nil
}

// putBack tells a ticket what it knew before a failover brought it back: what is settled here and not there. Nothing of that is sent
// again; what was not settled here, because another intent had taken its place, is adopted anew. What a person decided on the ticket
// stands, but for what was sent all the same, and for what was discarded since.
func (e *Engine) putBack(ctx context.Context, in outbox.Intent, s *snapshot) (told bool, err error) {
	for name, d := range in.Channels {
		is := outbox.Status(s.fields["delivery."+name])
		overrides := d.Status == outbox.Sent || d.Status == outbox.Discarded && is != outbox.Sent
		if !d.Status.Settled() || d.Status == is || is == "" || is.Settled() && !overrides {
			continue
		}
		told = true
		_, err := e.Outcome(ctx, outbox.Outcome{
			Ref: in.Ref, Asset: in.Asset, Task: in.Task, Run: in.Run, Key: in.Key, Channel: name, Number: d.Attempts,
			Status: d.Status, At: d.At, Error: d.Error,
		})
		if err != nil {
			return true, err
		}
	}
	return told, nil
}
