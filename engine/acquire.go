// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
)

// Claim screens, locks, mints: a lock-free read answers a terminal ticket at once; a held asset is answered with its holder, or
// waited for. A request that its process sends again, by its name, is answered with the claim that it was granted, as long as that is held:
// the first answer may have been lost, with the daemon too.
//
// Errors: *HeldError, *InvalidError, ErrUnknownFlow, ErrFlowMismatch, ErrTicketDamaged, ErrTooManyClaims, ErrForbidden, ErrDraining,
// ErrStoreUnavailable, or the context's own.
func (e *Engine) Claim(ctx context.Context, r ClaimRequest) (ClaimResult, error) {
	result, err := e.claim(ctx, r)
	outcome := "granted"
	var held *HeldError
	switch {
	case errors.As(err, &held):
		outcome = "held"
	case err != nil:
		outcome = "refused"
	case result.Claim == nil:
		outcome = "terminal"
	}
	e.metrics.claims.WithLabelValues(outcome).Inc()
	return result, err
}

func (e *Engine) claim(ctx context.Context, r ClaimRequest) (ClaimResult, error) {
	if e.Draining() {
		return ClaimResult{}, ErrDraining
	}
	flow, err := store.LookupFlow(r.Flow)
	if err != nil {
		return ClaimResult{}, err
	}
	if err := flow.Takes(r.Asset); err != nil {
		return ClaimResult{}, &InvalidError{"asset", strings.TrimPrefix(err.Error(), store.ErrInvalidAsset.Error()+": ")}
	}
	process, err := e.liveness(&r)
	if err != nil {
		return ClaimResult{}, err
	}
	c := &claim{
		id: rand.Text(), nonce: newNonce(), ticket: store.ID(r.Asset, r.Task), flow: flow,
		uid: r.Peer.UID, owner: r.Peer.Owner(), account: r.Peer.Account(), caller: r.Peer.PID, heartbeat: r.Heartbeat, maxHold: r.MaxHold, process: process,
		request: r.Request, status: Held, ended: make(chan struct{}), writes: store.NewTurnstile(),
	}
	if process != nil {
		c.pid, c.caller = process.PID(), process.PID()
	}
	c.agent = agentName(c.caller, c.uid)
	if result, again, err := e.again(ctx, c); again || err != nil {
		closeProcess(process)
		return result, err
	}
	if err := e.config.Gate(); err != nil {
		closeProcess(process)
		return ClaimResult{}, &store.UnavailableError{Why: err.Error()}
	}
	if !e.claims.reserve(r.Peer.Account(), e.config.MaxPerUID) {
		closeProcess(process)
		return ClaimResult{}, fmt.Errorf("%w: %d are held; finish or release some", ErrTooManyClaims, e.config.MaxPerUID)
	}
	ticket, granted, err := e.acquire(ctx, c, r.Wait)
	if granted && ctx.Err() != nil { // the caller went away in the meantime, and nobody else will ever know of this claim
		e.abandon(c, "the caller went away")
		err = context.Cause(ctx)
	}
	if err != nil || !granted {
		e.claims.unreserve(c.account)
		closeProcess(process)
		return ClaimResult{Ticket: ticket, Next: []store.Next{}}, err
	}
	// From here on the claim is the watchdog's. It is in the journal before it is answered, so that a crash of the daemon right after
	// the answer does not end it.
	<-e.keep(c, e.now())
	e.claims.add(c)
	e.processes.add(c)
	e.dog.follow(c)
	v := e.view(c)
	return ClaimResult{Claim: &v, Ticket: ticket, Next: flow.Next(ticket.State)}, nil
}

// again answers a request that its process sends again, if what it was granted is still held.
func (e *Engine) again(ctx context.Context, c *claim) (result ClaimResult, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	own, err := e.claims.asked(c)
	if own == nil || e.alive(own) != nil {
		return ClaimResult{}, false, err
	}
	t, err := e.Ticket(ctx, own.ticket)
	if err != nil {
		return ClaimResult{}, true, err
	}
	told := own.event(audit.Replayed)
	told.From, told.To = string(t.State), string(t.State)
	e.store.Tell(ctx, told)
	v := e.view(own)
	return ClaimResult{Claim: &v, Ticket: t, Next: own.flow.Next(t.State)}, true, nil
}

// acquire screens, waits its turn, and takes lock and grant. granted is false for a terminal ticket.
func (e *Engine) acquire(ctx context.Context, c *claim, wait time.Duration) (store.Ticket, bool, error) {
	ctx, cancel := e.untilDrain(ctx)
	defer cancel()
	until := time.Now().Add(wait)
	var turn *turn
	defer func() { turn.leave() }()
	for {
		ticket, granted, err := e.try(ctx, c, turn)
		var held *HeldError
		if !errors.As(err, &held) {
			return ticket, granted, err
		}
		if !time.Now().Before(until) {
			return store.Ticket{}, false, held
		}
		if turn == nil {
			turn = e.queue.join(c.ticket.Asset)
		}
		again := e.config.Rest(ctx)
		if err := errors.Join(turn.wait(ctx, until, held.Holder.Remaining), again()); err != nil {
			return store.Ticket{}, false, err
		}
	}
}

// try screens, and takes lock and grant if the asset is free and none that waits on this host comes before; else it returns a
// *HeldError.
func (e *Engine) try(ctx context.Context, c *claim, t *turn) (store.Ticket, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	snap, err := e.screen(ctx, c.ticket)
	if err != nil {
		return store.Ticket{}, false, err
	}
	if snap.Damaged() { // nobody may decide on what is left of it
		_, err := snap.Ticket(c.ticket)
		return store.Ticket{}, false, err
	}
	if store.Final(snap.State()) {
		if snap.Big {
			ticket, err := e.Ticket(ctx, c.ticket)
			return ticket, false, err
		}
		ticket, err := snap.Ticket(c.ticket)
		return ticket, false, err
	}
	if snap.Lock == "" && e.queue.mayTake(c.ticket.Asset, t) {
		if err := e.weigh(ctx, snap.Size); err != nil {
			return store.Ticket{}, false, err
		}
		ticket, granted, err := e.take(ctx, c)
		if !errors.Is(err, errHeld) {
			return ticket, granted, err
		}
	}
	return store.Ticket{}, false, &HeldError{Asset: c.ticket.Asset, Holder: snap.Holder()}
}

// take locks through redsync, then mints. On any failure it leaves no lock behind, as far as Redis can be reached.
func (e *Engine) take(ctx context.Context, c *claim) (store.Ticket, bool, error) {
	sent, err := e.lock(ctx, c)
	if err != nil {
		return store.Ticket{}, false, err
	}
	keep := false
	defer func() {
		if !keep {
			e.unlock(c)
		}
	}()
	m, err := e.store.Mint(ctx, c.ticket, store.Writer{Token: e.lookout.Highest(c.ticket.Asset), Nonce: c.nonce, Agent: c.agent}, c.flow)
	if errors.Is(err, store.ErrReplicasMissing) {
		c.token = m.Token
		e.lookout.Saw(c.ticket.Asset, c.token)
		e.abandon(c, err.Error())
	}
	if err != nil {
		return store.Ticket{}, false, err
	}
	switch m.Code {
	case store.Mismatch:
		return store.Ticket{}, false, fmt.Errorf("%w: claim it with that one", ErrFlowMismatch)
	case store.Gone:
		return store.Ticket{}, false, errHeld
	}
	ticket, err := e.store.Complete(ctx, c.ticket, m.Hash, nil)
	if err != nil || m.Code == store.Terminal {
		return ticket, false, err
	}
	c.token = m.Token
	e.lookout.Saw(c.ticket.Asset, c.token)
	now := e.now()
	c.started, c.since = now, time.Now().Round(time.Millisecond).UTC()
	c.trusted, c.renewAt = e.trust.until(sent), e.trust.renewal(sent)
	c.sign, c.noted = e.dog.at(now).clock, now
	if now >= c.trusted { // slept between lock and answer: nothing may be promised any more
		why := "it answered too slowly for the lock's ttl"
		lost := c.event(audit.Lost)
		lost.Reason = "expired: " + why
		e.store.Tell(ctx, lost)
		return store.Ticket{}, false, &store.UnavailableError{Why: why}
	}
	keep = true
	c.leave(m.Hash)
	ticket.Holder = e.holding(c)
	return ticket, true, nil
}

// abandon releases a grant that was never answered.
func (e *Engine) abandon(c *claim, why string) {
	ctx, cancel := context.WithTimeout(e.life, store.CallTimeout)
	defer cancel()
	if _, err := e.store.Release(ctx, c.ticket, c.writer(), why); err != nil {
		e.log.Warn("cannot release a claim that was not answered; its lock runs out by itself", "ticket", c.ticket.String(), "why", why, "error", err)
	}
}
