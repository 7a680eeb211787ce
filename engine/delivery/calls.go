// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"sync"

	"github.com/picketd/picket/engine/store"
)

// calls are the notify calls that are under way: one at a time for a ticket.
type calls struct {
	mu       sync.Mutex
	byTicket map[string]*call
}

type call struct {
	turn  store.Turnstile
	users int // guarded by calls.mu
}

func newCalls() *calls { return &calls{byTicket: map[string]*call{}} }

// enter waits for the ticket's turn and returns what ends it. Its error is that of a store.Turnstile.
func (c *calls) enter(ctx context.Context, ticket string) (leave func(), err error) {
	c.mu.Lock()
	k := c.byTicket[ticket]
	if k == nil {
		k = &call{turn: store.NewTurnstile()}
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
	if err := k.turn.Enter(ctx); err != nil {
		forget()
		return nil, err
	}
	return func() {
		k.turn.Leave()
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
