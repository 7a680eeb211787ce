// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/picketd/picket/engine/store"
)

// What is here is for administrators. That the caller is one is for sockapi to see.

// Break takes the asset from who holds it when it is called, on whatever host: the holder is fenced off and told, and the lock is
// free. by is pid/uid of the administrator. It succeeds too when nobody holds the asset, or not the same any more. Errors:
// ErrStoreUnavailable.
func (e *Engine) Break(ctx context.Context, a store.Asset, by, reason string) error {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	id := store.TicketID{Asset: a}
	seen, err := e.store.Peek(ctx, id)
	if err != nil {
		return err
	}
	ended, err := e.store.Break(ctx, a, e.nobody(a, by), seen, reason)
	if err != nil {
		return err
	}
	for _, c := range e.claims.of(a) {
		if c.nonce == ended {
			e.conclude(c, ReasonForced)
		}
	}
	e.log.Warn("lock broken", "asset", a, "by", by, "reason", reason)
	return nil
}

// Force ends a claim of this daemon, anyone's. On one that ended it succeeds. Errors: ErrClaimNotFound, ErrStoreUnavailable.
func (e *Engine) Force(ctx context.Context, id, by string) error {
	c, err := e.claims.get(id, 0)
	if err != nil {
		return err
	}
	e.conclude(c, ReasonForced) // the lock is freed also if an earlier call could not
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	return e.store.Force(ctx, c.ticket, c.writer(), by)
}

// newNonce is one of 80 bits: it stands on an asset's lock, grant and ticket, and must differ from that of every other grant of the asset.
func newNonce() string { return rand.Text()[:16] }

// nobody is the writer of a grant that no claim holds.
func (e *Engine) nobody(a store.Asset, by string) store.Writer {
	return store.Writer{Token: e.lookout.Highest(a), Nonce: newNonce(), Agent: by}
}

// Reopen begins a new run of a ticket that is terminal, or damaged, in INIT. A claim that is still open on it is fenced off and told. Errors:
// ErrTicketNotFound, *TransitionError, ErrStoreUnavailable.
func (e *Engine) Reopen(ctx context.Context, id store.TicketID, by, reason string) (store.Ticket, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	for {
		seen, err := e.store.Read(ctx, id)
		if err != nil {
			return store.Ticket{}, err
		}
		until, err := e.store.Unmark(ctx, id)
		if err != nil {
			return store.Ticket{}, err
		}
		asked := e.now()
		w, err := e.store.Reopen(ctx, id, e.nobody(id.Asset, by), seen, until, reason)
		switch {
		case err != nil:
			return store.Ticket{}, err
		case w.Code == store.Gone:
			return store.Ticket{}, fmt.Errorf("%w: there is nothing to reopen", store.ErrTicketNotFound)
		case w.Code == store.Illegal:
			return store.Ticket{}, &store.TransitionError{State: w.State(), Wants: "FINISHED or FAILED"}
		case w.Code == store.Conflict: // another write came between, or this took too long
			continue
		}
		if _, err := e.store.Unmark(ctx, id); err != nil {
			e.log.Warn("a list may pass over a reopened ticket that was reopened late", "asset", id.Asset, "task", id.Task, "error", err)
		}
		for _, c := range e.claims.of(id.Asset) {
			if c.ticket == id {
				e.conclude(c, ReasonForced)
			}
		}
		e.courier.HeedNow(ctx, id, w.Hash, asked)
		return e.store.Complete(ctx, id, w.Hash, nil)
	}
}
