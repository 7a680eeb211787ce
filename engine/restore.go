// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
)

// How many claims are taken up again at a time, and the pause before those about which Redis said nothing are asked for again.
// It is many, and nobody waits within, because a node that is away must not hold up the claims on the others.
const (
	restoreAtOnce = 4096
	restorePause  = 5 * store.RetryPause
)

// restoreClaims takes up the claims of an earlier run of the daemon: those whose lock still carries their nonce, and whose process lives
// or whose heartbeat still has time. The others are remembered with the reason why they ended. Until a claim is decided about,
// calls on it answer ErrStoreUnavailable; while Redis is away that is all the time. stamp is when the earlier run was last known
// to be there: what came after is not the agents' silence.
func (e *Engine) restoreClaims(ctx context.Context, records []record, stamp time.Duration) {
	defer close(e.restored)
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.EndedAt, b.EndedAt) }) // as they are remembered
	open := map[*claim]record{}
	for _, r := range records {
		if r.Status != "" {
			e.recall(r)
			continue
		}
		open[e.revive(r)] = r
	}
	for len(open) > 0 && ctx.Err() == nil {
		e.restoreSome(ctx, open, stamp)
		if len(open) > 0 {
			select {
			case <-time.After(restorePause):
			case <-ctx.Done():
			}
		}
	}
	for c := range open {
		closeProcess(c.process)
	}
}

// restoreSome asks for each claim once, and removes those that are decided about.
func (e *Engine) restoreSome(ctx context.Context, open map[*claim]record, stamp time.Duration) {
	var g errgroup.Group
	g.SetLimit(restoreAtOnce)
	var mu sync.Mutex
	var decided []*claim
	for c, r := range open {
		g.Go(func() error {
			if e.restore(ctx, c, r, stamp) {
				mu.Lock()
				defer mu.Unlock()
				decided = append(decided, c)
			}
			return nil
		})
	}
	_ = g.Wait()
	for _, c := range decided {
		delete(open, c)
	}
}

// revive makes a claim of a record, with its process if that still lives.
func (e *Engine) revive(r record) *claim {
	flow, err := store.LookupFlow(r.Flow)
	if err != nil {
		flow = store.AssetInference
	}
	c := &claim{
		id: r.ID, nonce: r.Nonce, token: r.Token, ticket: store.ID(r.Asset, r.Task), flow: flow, uid: r.UID, owner: cmp.Or(r.Owner, r.UID),
		account: cmp.Or(r.Account, r.Owner, r.UID), pid: r.PID,
		caller: r.Caller, request: r.Request, agent: agentName(r.Caller, r.UID), heartbeat: r.Heartbeat, maxHold: r.MaxHold, since: r.Since,
		started: r.Started, status: Held, ended: make(chan struct{}), writes: store.NewTurnstile(),
	}
	if r.PID != 0 && r.Status == "" {
		if p, err := process.Open(r.PID); err == nil && p.StartTime() == r.Start {
			c.process = p
		} else if err == nil {
			p.Close()
		}
	}
	c.size.Store(-1)
	return c
}

// recall remembers a claim that had ended, so that the calls which ended it answer as before.
func (e *Engine) recall(r record) {
	if e.now()-r.EndedAt > rememberFor {
		e.journal.forget(r.ID)
	}
	c := e.revive(r)
	c.status, c.reason, c.finished, c.unanswered = r.Status, r.Reason, r.Finished, r.Unanswered
	close(c.ended)
	e.claims.recall(c, r.EndedAt)
	if c.unanswered {
		e.spawn(func(ctx context.Context) { e.clearUp(ctx, c) })
	}
	if r.Status == Lost && e.now()-r.EndedAt < e.config.TTL { // the earlier run may have ended before it freed the lock
		switch r.Reason {
		case ReasonSilent, ReasonMaxHold:
			c.freeAt = r.EndedAt + e.trust.margin
		case ReasonProcessExit, ReasonForced:
			c.freeAt = e.now()
		default:
			return
		}
		e.dog.schedule(c, c.freeAt)
	}
}

// restore decides about one claim; false: Redis did not say.
func (e *Engine) restore(ctx context.Context, c *claim, r record, stamp time.Duration) bool {
	sent := e.now()
	ask, cancel := context.WithTimeout(ctx, e.config.TTL/6)
	defer cancel()
	extended, err := e.mutex(e.renewed, c).ExtendContext(ask)
	var taken *redsync.ErrTaken
	if !extended && !errors.As(err, &taken) {
		return false
	}
	silence := max(stamp-r.Sign-r.Heartbeat/noteShare, 0)
	c.sign, c.noted = e.dog.at(sent).clock-silence, r.Sign
	c.unanswered = true // a call of the earlier run's may have ended it, and may land yet
	var reason Reason
	switch { // before anybody finds the claim, who would be told that it is held
	case !extended:
		reason = e.diagnose(c, e.config.TTL/6)
	case r.Watched && c.process == nil:
		reason = ReasonProcessExit
	}
	if extended {
		c.trusted, c.renewAt = e.trust.until(sent), e.trust.renewal(sent)
	}
	e.claims.reserve(c.account, 1<<31-1)
	e.claims.add(c)
	e.lookout.Saw(c.ticket.Asset, c.token)
	switch {
	case reason == "":
		e.processes.add(c)
		e.dog.follow(c)
	case e.conclude(c, reason) && extended:
		e.free(ctx, c)
	}
	return true
}

// Restored closes when every claim of an earlier run has been decided about.
func (e *Engine) Restored() <-chan struct{} { return e.restored }

// Awaiting is how many claims of an earlier run have not been decided about.
func (e *Engine) Awaiting() int { return e.claims.awaiting() }
