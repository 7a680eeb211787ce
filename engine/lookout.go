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

	"github.com/redis/go-redis/v9"
)

const (
	lookEvery = 10 * time.Second
	lookRetry = 500 * time.Millisecond // until Redis answers: who comes back may have lost its data
	lookLimit = 2 * time.Second
)

// lookout watches what all trust rests on: that Redis keeps its data, and that clocks run alike. It only tells. Its loop alone uses
// what it keeps.
type lookout struct {
	*Engine
	wall func() time.Time

	stores  map[string]string    // the incarnation last found, by key
	host    *clockStand          // nil: not read yet
	servers map[string]clockTime // of each master, by address
}

func newLookout(e *Engine) *lookout {
	return &lookout{
		Engine: e, wall: func() time.Time { return time.Now().Round(0) },
		stores: map[string]string{}, servers: map[string]clockTime{},
	}
}

func (l *lookout) loop(ctx context.Context) {
	if err := l.recallStores(); err != nil {
		l.log.Warn("a loss of Redis' data while no daemon ran is not seen", "error", err)
	}
	l.recallWrites()
	for {
		pause := lookEvery
		if err := l.look(ctx); err != nil && transient(err) {
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

// look looks once. That Redis does not answer is for others to tell.
func (l *lookout) look(ctx context.Context) error {
	l.lookAtHost()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	masters, err := l.masters(ctx)
	if err != nil {
		return err
	}
	l.lookAtRoom(ctx, masters)
	return errors.Join(l.lookAtClocks(ctx, masters), l.lookAtStores(ctx, masters), l.lookAtWrites(ctx))
}

// master is a server that takes writes.
type master struct {
	addr   string // empty when there is only one
	client redis.Cmdable
}

// masters are those of a Cluster by address, or the one that there is.
func (e *Engine) masters(ctx context.Context) ([]master, error) {
	cluster, ok := e.redis.(*redis.ClusterClient)
	if !ok {
		return []master{{"", e.redis}}, nil
	}
	var mu sync.Mutex
	var all []master
	err := cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, master{c.Options().Addr, c})
		return nil
	})
	slices.SortFunc(all, func(a, b master) int { return cmp.Compare(a.addr, b.addr) })
	return all, err
}
