// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/picketd/picket/engine/store"
)

// Alarms are what a person must look at now.
func (l *Lookout) Alarms() []Alarm { return l.alarms.list() }

const (
	lookEvery = 10 * time.Second
	lookRetry = 500 * time.Millisecond // until Redis answers: who comes back may have lost its data
	lookLimit = 2 * time.Second
)

// Loop looks until the context ends.
func (l *Lookout) Loop(ctx context.Context) {
	if err := l.Recall(); err != nil {
		l.c.Logger.Warn("what Redis lost while no daemon ran is not seen", "error", err)
	}
	for {
		pause := lookEvery
		if err := l.Look(ctx); err != nil && store.Transient(err) {
			pause = lookRetry
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			l.keepWrites() // those since the last look
			return
		}
	}
}

// Recall takes up what the last run of this daemon kept, before the first look.
func (l *Lookout) Recall() error {
	last := map[string]written{}
	err := errors.Join(recall(l.c.StateDir, storesFile, l.store.Keys.Incarnations(), l.stores),
		recall(l.c.StateDir, writesFile, l.store.Keys.Assets(), last))
	l.writes.recall(last)
	return err
}

// Look looks once. That Redis does not answer is for others to tell.
func (l *Lookout) Look(ctx context.Context) error {
	l.looking.Lock()
	defer l.looking.Unlock()
	l.lookAtHost()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	masters, err := l.store.Masters(ctx)
	if err != nil {
		return err
	}
	stores := l.lookAtStores(ctx, masters) // first, for it may be waited for (Enter)
	fullest, servers := 0.0, []string{}
	for _, m := range masters {
		full, run := m.Stands(ctx)
		fullest, servers = max(fullest, full), append(servers, run)
	}
	l.metrics.full.Set(fullest)
	err = errors.Join(stores, l.lookAtClocks(ctx, masters), l.lookAtWrites(ctx))
	l.note(servers, err)
	return err
}

// Probe asks each master for a write that changes nothing, so that one which is full, read-only, or closed to this user by an ACL is
// seen before an agent meets it. Errors: store.ErrUnavailable.
func (l *Lookout) Probe(ctx context.Context) error {
	found, err := l.read(ctx)
	if err != nil {
		return err
	}
	for key := range found {
		if _, err := l.store.MakeIncarnation(ctx, key, rand.Text()); err != nil {
			return store.Unavailable(err)
		}
	}
	return nil
}

// Token is the newest token of an asset that is known, or 0.
func (l *Lookout) Token(a store.Asset) int64 { return l.tokens.of(a) }

// Found compares the token of an asset's newest grant with the one known before Redis was asked (G3).
func (l *Lookout) Found(a store.Asset, known, token int64) {
	if l.tokens.found(a, known, token) {
		l.tokenBack(a, known, fmt.Sprint("token ", token))
	}
}

// Missed tells of an asset whose grant is gone: it lives longer than any claim.
func (l *Lookout) Missed(a store.Asset, known int64) { l.tokenBack(a, known, "none") }

func (l *Lookout) tokenBack(a store.Asset, known int64, what string) {
	l.metrics.back.Inc()
	l.alarms.happened(AlarmTokenBack, fmt.Sprintf("the grant of %s went back from token %d to %s: Redis fell back to an older state, by a failover to a "+
		"replica that lagged or a restored backup; what was written in between is lost, and writes under the lost grant are refused; compare the "+
		"tickets with what the agents did, and let Redis wait for its replica (min-replicas-to-write)", a, known, what))
}

// Saw remembers an asset's token, and the highest of all, above which the next one is minted (G3).
func (l *Lookout) Saw(a store.Asset, token int64) {
	l.tokens.found(a, 0, token)
	for seen := l.tokens.highest.Load(); token > seen && !l.tokens.highest.CompareAndSwap(seen, token); seen = l.tokens.highest.Load() {
	}
}

// Highest is the token above which an asset's next one must be (G3).
func (l *Lookout) Highest(a store.Asset) int64 { return max(l.tokens.highest.Load(), l.tokens.of(a)) }

// Wrote remembers the revision that a write left a ticket with, by its key.
func (l *Lookout) Wrote(ticket string, revision int64) { l.writes.note(ticket, revision) }

// lookAtWrites compares what Redis has with what was written: with all of it at first, then with the newest and one of the others in turn.
func (l *Lookout) lookAtWrites(ctx context.Context) error {
	last, changed := l.writes.take()
	keys := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[b].At.Compare(last[a].At) })
	if n := len(keys); l.rounds > 0 && n > 2 { // what goes back loses the newest first; another master, the others
		keys = []string{keys[0], keys[1+l.rounds%(n-1)]}
	}
	l.rounds++
	for _, key := range keys {
		has, err := l.store.Revision(ctx, key)
		if err != nil {
			return err
		}
		if was := last[key].Revision; has < was {
			l.writes.forget()
			l.metrics.resets.Inc()
			l.alarms.happened(AlarmStoreOlder, fmt.Sprintf("Redis went back to an older state: of %s it has revision %d, and had %d; what was written in between is lost, "+
				"writes under lost grants are refused, and accepted notifications still go out; find out why (a restart from an RDB, a power loss, a failover to a "+
				"replica that lagged, a restored backup?), and compare the tickets with what the agents did", key, has, was))
			changed = true
			break
		}
	}
	if changed {
		l.keepWrites()
	}
	return nil
}

func (l *Lookout) keepWrites() {
	last, _ := l.writes.take()
	if err := keep(l.c.StateDir, writesFile, last); err != nil {
		l.c.Logger.Debug("cannot keep what was written last", "error", err)
	}
}
