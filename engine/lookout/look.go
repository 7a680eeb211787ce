// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"context"
	"crypto/rand"
	"errors"
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
	l.lookAtHost()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	masters, err := l.store.Masters(ctx)
	if err != nil {
		return err
	}
	fullest := 0.0
	for _, m := range masters {
		fullest = max(fullest, m.Fullness(ctx))
	}
	l.metrics.full.Set(fullest)
	return errors.Join(l.lookAtClocks(ctx, masters), l.lookAtStores(ctx, masters), l.lookAtWrites(ctx))
}

// Probe asks each master for a write that changes nothing, so that one which is full, read-only, or closed to this user by an ACL is
// seen before an agent meets it. Errors: store.ErrUnavailable.
func (l *Lookout) Probe(ctx context.Context) error {
	masters, err := l.store.Masters(ctx)
	if err != nil {
		return store.Unavailable(err)
	}
	keys, err := l.store.IncarnationKeys(ctx, masters)
	if err != nil {
		return store.Unavailable(err)
	}
	for _, key := range keys {
		if _, err := l.store.MakeIncarnation(ctx, key, rand.Text()); err != nil {
			return store.Unavailable(err)
		}
	}
	return nil
}
