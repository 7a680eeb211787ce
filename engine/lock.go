// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/picketd/picket/engine/store"
)

// errHeld: somebody was faster.
var errHeld = errors.New("held")

// lock takes the asset's lock with the claim's nonce and returns when that was sent. After a lost reply the lock may be the
// claim's without its knowing: it is released by value and tried again with the same nonce, so that a request which lands late
// makes no lock of a stranger's.
func (e *Engine) lock(ctx context.Context, c *claim) (sent time.Duration, err error) {
	lock := e.mutex(e.locks, c)
	var said error
	for {
		sent = e.now()
		err = lock.LockContext(ctx)
		var taken *redsync.ErrTaken
		switch {
		case err == nil:
			return sent, nil
		case errors.As(err, &taken):
			return 0, errHeld
		}
		e.unlock(c)
		said = store.Said(said, err)
		if ctx.Err() != nil || !store.Transient(err) {
			if errors.Is(ctx.Err(), context.Canceled) {
				return 0, context.Cause(ctx)
			}
			return 0, store.Unavailable(said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(store.RetryPause):
		}
	}
}

func (e *Engine) mutex(over *redsync.Redsync, c *claim) *redsync.Mutex {
	return over.NewMutex(e.store.Keys.Lock(c.ticket.Asset), redsync.WithExpiry(e.config.TTL), redsync.WithTries(1),
		redsync.WithTimeoutFactor(1.0/6), redsync.WithValue(c.nonce),
		redsync.WithGenValueFunc(func() (string, error) { return c.nonce, nil }))
}

// unlock lets go of a lock that got no grant, on a context of its own: the caller's may have been cancelled.
func (e *Engine) unlock(c *claim) {
	ctx, cancel := context.WithTimeout(e.life, min(e.config.TTL/6, time.Second))
	defer cancel()
	_, err := e.mutex(e.locks, c).UnlockContext(ctx)
	var taken *redsync.ErrTaken
	if err != nil && !errors.As(err, &taken) && !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		e.log.Warn("cannot release a lock that got no grant; it runs out by itself", "asset", c.ticket.Asset, "error", err)
	}
}
