// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/picketd/picket/audit"
)

// ClaimRequest asks for a claim. The durations are checked against their limits by Claim.
type ClaimRequest struct {
	Asset     Asset
	Task      string
	Flow      string // empty: asset-inference
	Wait      time.Duration
	PID       int // 0: none named
	Heartbeat time.Duration
	MaxHold   time.Duration
	Request   string // the caller's own name for this request; empty: it has none
	Peer      Peer
}

// ClaimResult is a granted claim, or, when Claim is nil, a terminal ticket that needs none.
type ClaimResult struct {
	Claim  *Claim
	Ticket Ticket
	Next   []Next
}

// Claim screens, locks, mints: a lock-free read answers a terminal ticket at once; a held asset is answered with its holder, or
// waited for. A request that its process sends again, by its name, is answered with the claim that it was granted, as long as that is held:
// the first answer may have been lost, with the daemon too.
//
// Errors: *HeldError, *InvalidError, ErrUnknownFlow, ErrFlowMismatch, ErrTooManyClaims, ErrForbidden, ErrDraining,
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
	flow, err := LookupFlow(r.Flow)
	if err != nil {
		return ClaimResult{}, err
	}
	process, err := e.liveness(&r)
	if err != nil {
		return ClaimResult{}, err
	}
	c := &claim{
		id: rand.Text(), nonce: rand.Text(), ticket: TicketID{r.Asset, r.Task}, flow: flow,
		uid: r.Peer.UID, owner: r.Peer.Owner(), account: r.Peer.Account(), caller: r.Peer.PID, heartbeat: r.Heartbeat, maxHold: r.MaxHold, process: process,
		request: r.Request, status: Held, ended: make(chan struct{}), writes: newTurnstile(),
	}
	if process != nil {
		c.pid, c.caller = process.PID(), process.PID()
	}
	c.agent = fmt.Sprintf("%d/%d", c.caller, c.uid)
	if result, again, err := e.again(ctx, c); again || err != nil {
		closeProcess(process)
		return result, err
	}
	if err := e.Gate(); err != nil {
		closeProcess(process)
		return ClaimResult{}, &StoreError{Why: err.Error()}
	}
	if !e.claims.reserve(r.Peer.Account(), e.MaxPerUID) {
		closeProcess(process)
		return ClaimResult{}, fmt.Errorf("%w: %d are held; finish or release some", ErrTooManyClaims, e.MaxPerUID)
	}
	ticket, granted, err := e.acquire(ctx, c, r.Wait)
	if granted && ctx.Err() != nil { // the caller went away in the meantime, and nobody else will ever know of this claim
		e.abandon(c)
		err = context.Cause(ctx)
	}
	if err != nil || !granted {
		e.claims.unreserve(c.account)
		closeProcess(process)
		return ClaimResult{Ticket: ticket, Next: []Next{}}, err
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
	e.audit(ctx, told)
	v := e.view(own)
	return ClaimResult{Claim: &v, Ticket: t, Next: own.flow.Next(t.State)}, true, nil
}

// acquire screens, waits its turn, and takes lock and grant. granted is false for a terminal ticket.
func (e *Engine) acquire(ctx context.Context, c *claim, wait time.Duration) (Ticket, bool, error) {
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
			return Ticket{}, false, held
		}
		if turn == nil {
			turn = e.queue.join(c.ticket.Asset)
		}
		again := e.Rest(ctx)
		if err := errors.Join(turn.wait(ctx, until, held.Holder.Remaining), again()); err != nil {
			return Ticket{}, false, err
		}
	}
}

// try screens, and takes lock and grant if the asset is free and none that waits on this host comes before; else it returns a
// *HeldError.
func (e *Engine) try(ctx context.Context, c *claim, t *turn) (Ticket, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	snap, err := e.screen(ctx, c.ticket)
	if err != nil {
		return Ticket{}, false, err
	}
	if len(snap.fields) > 0 && c.flow.terminal(State(snap.fields["state"])) {
		if snap.big {
			ticket, err := e.Ticket(ctx, c.ticket)
			return ticket, false, err
		}
		ticket, err := snap.ticket(c.ticket)
		return ticket, false, err
	}
	if snap.lock == "" && e.queue.mayTake(c.ticket.Asset, t) {
		if err := e.weigh(ctx, snap.size); err != nil {
			return Ticket{}, false, err
		}
		ticket, granted, err := e.take(ctx, c)
		if !errors.Is(err, errHeld) {
			return ticket, granted, err
		}
	}
	return Ticket{}, false, &HeldError{Asset: c.ticket.Asset, Holder: snap.holder()}
}

// errHeld: somebody was faster.
var errHeld = errors.New("held")

// take locks through redsync, then mints. On any failure it leaves no lock behind, as far as Redis can be reached.
func (e *Engine) take(ctx context.Context, c *claim) (Ticket, bool, error) {
	sent, err := e.lock(ctx, c)
	if err != nil {
		return Ticket{}, false, err
	}
	keep := false
	defer func() {
		if !keep {
			e.unlock(c)
		}
	}()
	r, err := e.commit(ctx, mintScript, c.ticket, audit.Event{Kind: audit.Claimed}, e.args(c.ticket, e.highest(c.ticket.Asset), c.nonce, c.agent, "",
		c.flow.Name, string(c.flow.Initial), string(c.ticket.Asset), e.KeepGrants.Milliseconds(),
		e.keys.asset(c.ticket.Asset, "ticket:"), e.keys.asset(c.ticket.Asset, "log:"), e.keys.asset(c.ticket.Asset, "refused:")))
	if err != nil {
		return Ticket{}, false, err
	}
	switch r.code {
	case codeMismatch:
		return Ticket{}, false, fmt.Errorf("%w: claim it with that one", ErrFlowMismatch)
	case codeGone:
		return Ticket{}, false, errHeld
	}
	snap := snapshot{fields: r.pairs(0)}
	ticket, err := snap.ticket(c.ticket)
	if err != nil || r.code == codeTerminal {
		return ticket, false, err
	}
	c.token = r.number(2)
	e.tellBefore(c, r)
	e.saw(c.ticket.Asset, c.token)
	now := e.now()
	c.started, c.since = now, time.Now().Round(time.Millisecond).UTC()
	c.trusted, c.renewAt = sent+e.TTL-e.margin, sent+jitter(e.TTL/3)
	c.sign, c.noted = e.dog.at(now).clock, now
	if now >= c.trusted { // slept between lock and answer: nothing may be promised any more
		why := "it answered too slowly for the lock's ttl"
		lost := c.event(audit.Lost)
		lost.Reason = "expired: " + why
		e.audit(ctx, lost)
		return Ticket{}, false, &StoreError{Why: why}
	}
	keep = true
	c.lock = e.mutex(e.renewed, c)
	c.size.Store(bytesOf(snap.fields))
	e.index.touch(c.ticket)
	ticket.Holder = e.holding(c)
	return ticket, true, nil
}

// lock takes the asset's lock with the claim's nonce and returns when that was sent. After a lost reply the lock may be the
// claim's without its knowing: it is released by value and tried again with the same nonce, so that a request which lands late
// makes no lock of a stranger's.
func (e *Engine) lock(ctx context.Context, c *claim) (sent time.Duration, err error) {
	c.lock = e.mutex(e.locks, c)
	for {
		sent = e.now()
		err = c.lock.LockContext(ctx)
		var taken *redsync.ErrTaken
		switch {
		case err == nil:
			return sent, nil
		case errors.As(err, &taken):
			return 0, errHeld
		}
		e.unlock(c)
		if ctx.Err() != nil || !transient(err) {
			if errors.Is(ctx.Err(), context.Canceled) {
				return 0, context.Cause(ctx)
			}
			return 0, unavailable(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

func (e *Engine) mutex(over *redsync.Redsync, c *claim) *redsync.Mutex {
	return over.NewMutex(e.keys.lock(c.ticket.Asset), redsync.WithExpiry(e.TTL), redsync.WithTries(1),
		redsync.WithTimeoutFactor(1.0/6), redsync.WithValue(c.nonce),
		redsync.WithGenValueFunc(func() (string, error) { return c.nonce, nil }))
}

// unlock lets go of a lock that got no grant, on a context of its own: the caller's may have been cancelled.
func (e *Engine) unlock(c *claim) {
	ctx, cancel := context.WithTimeout(e.life, min(e.TTL/6, time.Second))
	defer cancel()
	_, err := c.lock.UnlockContext(ctx)
	var taken *redsync.ErrTaken
	if err != nil && !errors.As(err, &taken) && !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		e.log.Warn("cannot release a lock that got no grant; it runs out by itself", "asset", c.ticket.Asset, "error", err)
	}
}

// abandon releases a grant that was never answered.
func (e *Engine) abandon(c *claim) {
	ctx, cancel := context.WithTimeout(e.life, storeTimeout)
	defer cancel()
	why := "the caller went away"
	told := c.event(audit.Released)
	told.Reason = why
	_, err := e.commit(ctx, releaseScript, c.ticket, told, e.args(c.ticket, c.token, c.nonce, c.agent, "", "released", why))
	if err != nil {
		e.log.Warn("cannot release a claim whose caller went away; its lock runs out by itself", "ticket", c.ticket.String(), "error", err)
	}
}

// untilDrain is a context that ends with ErrDraining, too, when the daemon takes no new claims.
func (e *Engine) untilDrain(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.draining, func() { cancel(ErrDraining) })
	return ctx, func() { stop(); cancel(nil) }
}
