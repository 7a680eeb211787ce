// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/picketd/picket/audit"
)

// What is here is for administrators. That the caller is one is for sockapi to see.

// Break takes the asset from who holds it when it is called, on whatever host: the holder is fenced off and told, and the lock is
// free. by is pid/uid of the administrator. It succeeds too when nobody holds the asset, or not the same any more. Errors:
// ErrStoreUnavailable.
func (e *Engine) Break(ctx context.Context, a Asset, by, reason string) error {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	id := TicketID{Asset: a}
	s, err := e.look(ctx, id)
	if err != nil {
		return err
	}
	r, err := e.commit(ctx, breakScript, id, audit.Event{Kind: audit.Broken, Agent: by, Reason: reason}, e.args(id, e.highest(a), rand.Text(), by, "", e.KeepGrants.Milliseconds(),
		reason, e.keys.asset(a, "ticket:"), e.keys.asset(a, "log:"), e.keys.asset(a, "refused:"), s.grantNonce, s.lock))
	if err != nil {
		return err
	}
	for _, c := range e.claims.of(a) {
		if c.nonce == r.text(0) {
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
	_, err = e.commit(ctx, releaseScript, c.ticket, audit.Event{Kind: audit.Forced, Token: c.token, Agent: by},
		e.args(c.ticket, c.token, c.nonce, c.agent, "", "lost", "forced by "+by))
	return err
}

// Reopen begins a new run of a terminal ticket, in INIT. A claim that is still open on it is fenced off and told. Errors:
// ErrTicketNotFound, *TransitionError, ErrStoreUnavailable.
func (e *Engine) Reopen(ctx context.Context, id TicketID, by, reason string) (Ticket, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	for {
		t, err := e.reopen(ctx, id, by, reason)
		if !errors.Is(err, errRaced) {
			return t, err
		}
	}
}

func (e *Engine) reopen(ctx context.Context, id TicketID, by, reason string) (Ticket, error) {
	s, err := e.read(ctx, id)
	if err != nil {
		return Ticket{}, err
	}
	r, err := e.commit(ctx, reopenScript, id, audit.Event{Kind: audit.Reopened, Agent: by, Reason: reason}, e.args(id, e.highest(id.Asset),
		rand.Text(), by, "", e.KeepGrants.Milliseconds(), reason, string(assetInference.Initial), s.fields["revision"]))
	if err != nil {
		return Ticket{}, err
	}
	s = snapshot{fields: r.pairs(0)}
	switch r.code {
	case codeGone:
		return Ticket{}, fmt.Errorf("%w: there is nothing to reopen", ErrTicketNotFound)
	case codeIllegal:
		return Ticket{}, &TransitionError{State: State(s.fields["state"]), Wants: "FINISHED or FAILED"}
	case codeConflict:
		return Ticket{}, errRaced
	}
	for _, c := range e.claims.of(id.Asset) {
		if c.ticket == id {
			e.conclude(c, ReasonForced)
		}
	}
	e.index.touch(id)
	e.heedNow(ctx, id, s.fields)
	return s.ticket(id)
}
