// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

// Notify accepts a notification, in the stages of outbox/doc.go: when it returns without an error, the intent is committed in
// this host's outbox, or the ticket has left NOTIFYING. Also delivery.ErrUnknownChannel, ErrContentConflict, outbox.ErrUnavailable.
func (e *Engine) Notify(ctx context.Context, id string, uid uint32, r delivery.Request) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := e.lookout.Identity(); err != nil {
		return WriteResult{}, err
	}
	channels, err := e.courier.Choose(c.flow.Name, r)
	if err != nil {
		return WriteResult{}, err
	}
	if r.Facts == nil {
		r.Facts = json.RawMessage("{}")
	}
	if err := e.weigh(ctx, int64(len(r.Facts)+len(r.Text))*int64(1+len(channels))); err != nil {
		return WriteResult{}, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	defer e.calling(c)()
	w, err := e.courier.Accept(ctx, delivery.Claim{
		Ticket: c.ticket, Flow: c.flow, Account: c.account, Token: c.token, Nonce: c.nonce, Agent: c.agent,
		Write: func(ctx context.Context, w store.ClaimWrite) (store.Written, error) { return e.write(ctx, c, w) },
	}, r, channels)
	if err != nil {
		return WriteResult{}, err
	}
	result, err := e.written(ctx, c, w, ErrContentConflict)
	if err != nil || r.Wait == 0 || result.Ticket.State != store.Notifying {
		return result, err
	}
	if c.size.Load() > light { // it is not kept for as long as the call waits
		result.Ticket = store.Ticket{}
	}
	if err := e.courier.Wait(ctx, c.ticket, r.Wait); err != nil {
		return WriteResult{}, err
	}
	now, err := e.Ticket(ctx, c.ticket)
	if err == nil {
		result.Ticket = now
	} else if result.Ticket.State == store.Notifying {
		err = nil // accepted it is; what became of it is for a later read
	}
	result.Next = c.flow.Next(result.Ticket.State)
	return result, err
}
