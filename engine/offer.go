// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/outbox"
)

// offered is the owner of tickets whose owner lives and cannot deliver all of them: its configuration has a channel no more, or its
// outbox no room. They are looked through as those of a daemon that is gone.
const offered = "offered"

// channel is the configured channel of that name and type, or nil.
func (e *Engine) channel(name, kind string) *Channel {
	i := slices.IndexFunc(e.Channels, func(ch Channel) bool { return ch.Name == name && ch.Type == kind })
	if i < 0 {
		return nil
	}
	return &e.Channels[i]
}

// lacks reports whether one of these that is not settled is not configured here.
func (e *Engine) lacks(channels map[string]outbox.Delivery) bool {
	for name, d := range channels {
		if !d.Status.Settled() && e.channel(name, d.Type) == nil {
			return true
		}
	}
	return false
}

// passOn offers a ticket that this daemon owns and cannot deliver on every channel, and closes what it has of it when the ticket is
// done. The channels that it has it delivers as before.
func (e *Engine) passOn(ctx context.Context, id TicketID, in outbox.Intent) error {
	s, err := e.glance(ctx, in)
	if err != nil {
		return err
	}
	current := s.fields["intent"] == in.ID && State(s.fields["state"]) == Notifying
	switch {
	case !current && slices.Contains(strings.Fields(s.fields["intents"]), in.ID):
		return e.box.Shut(in.Ref)
	case current && s.fields["owner"] == e.box.ID():
		// From now on others may send it, so it is sent no more without asking.
		if err := e.box.Yield(in.Ref); err != nil {
			return err
		}
		return e.offer(ctx, id, in.ID)
	}
	return nil
}

// offer gives a ticket to whoever can deliver it: first the hint, as in inherit. The own hint stays for as long as the outbox has
// something of it.
func (e *Engine) offer(ctx context.Context, id TicketID, intent string) error {
	z := redis.Z{Score: float64(time.Now().UnixMilli()), Member: id.String()}
	if err := e.redis.ZAdd(ctx, e.keys.undelivered(offered), z).Err(); err != nil {
		return unavailable(err)
	}
	_, err := e.own(ctx, id, intent, e.box.ID(), offered, "offered to the daemons that can deliver it: this one cannot on every channel")
	if err == nil {
		e.log.Warn("cannot deliver on every channel that a notification was accepted for; it is offered to other daemons", "ticket", id.String())
	}
	return err
}
