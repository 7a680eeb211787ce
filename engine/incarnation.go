// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// storeMost bounds the search for a key on each master. A Cluster has 16,384 slots; one of them is missed by so many keys with a
// probability of 2 %, and then a master that has no other is not watched.
const storeMost = 1 << 16

// storeKeys names one key for each master: the first that lands there. All daemons find the same.
func (e *Engine) storeKeys(ctx context.Context, masters []master) ([]string, error) {
	cluster, ok := e.redis.(*redis.ClusterClient)
	if !ok {
		return []string{e.keys.store(0)}, nil
	}
	without := map[string]bool{}
	for _, m := range masters {
		without[m.addr] = true
	}
	var keys []string
	for n := 0; n < storeMost && len(without) > 0; n++ {
		node, err := cluster.MasterForKey(ctx, e.keys.store(n))
		if err != nil {
			return nil, err
		}
		if addr := node.Options().Addr; without[addr] {
			delete(without, addr)
			keys = append(keys, e.keys.store(n))
		}
	}
	return keys, nil
}

// lookAtStores reads the incarnation of each master's data and makes it where it is missing. A key that was found once is read for
// ever: when its slot moves to another master, it moves along.
func (l *lookout) lookAtStores(ctx context.Context, masters []master) error {
	keys, err := l.storeKeys(ctx, masters)
	if err != nil {
		return err
	}
	for key := range l.stores {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	found := map[string]string{}
	var errs []error
	for _, key := range keys {
		value, err := l.redis.Get(ctx, key).Result()
		if errors.Is(err, redis.Nil) {
			value, err = l.makeStore(ctx, key)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found[key] = value
	}
	before := maps.Clone(l.stores)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if was, known := l.stores[key]; known && was != found[key] {
			l.metrics.resets.Inc()
			l.writes.forget() // which are lost with the rest
			l.alarms.happened(AlarmStoreReset, fmt.Sprintf("Redis lost its data: %s is not what it was; locks, grants, tickets and histories may be gone, "+
				"claims whose lock is gone end, and accepted notifications still go out; find out why (was it restarted without persistence, "+
				"flushed, or replaced?), and run the tasks again whose tickets are missing", key))
		}
		l.stores[key] = found[key]
	}
	if !maps.Equal(before, l.stores) {
		if err := l.keepStores(); err != nil {
			l.log.Warn("a loss of Redis' data while no daemon runs will not be seen", "error", err)
		}
	}
	return errors.Join(errs...)
}

// makeStore makes the incarnation unless it is there, and answers what it is. It is a write that changes nothing where it is there.
func (e *Engine) makeStore(ctx context.Context, key string) (string, error) {
	return storeScript.Run(ctx, e.redis, []string{key}, rand.Text()).Text()
}

// Probe asks each master for a write that changes nothing, so that one which is full, read-only, or closed to this user by an ACL is
// seen before an agent meets it. Errors: ErrStoreUnavailable.
func (e *Engine) Probe(ctx context.Context) error {
	masters, err := e.masters(ctx)
	if err != nil {
		return unavailable(err)
	}
	keys, err := e.storeKeys(ctx, masters)
	if err != nil {
		return unavailable(err)
	}
	for _, key := range keys {
		if _, err := e.makeStore(ctx, key); err != nil {
			return unavailable(err)
		}
	}
	return nil
}
