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

	"github.com/picketd/picket/engine/store"
)

// lookAtStores reads the incarnation of each master's data and makes it where it is missing. A key that was found once is read for
// ever: when its slot moves to another master, it moves along.
func (l *Lookout) lookAtStores(ctx context.Context, masters []store.Master) error {
	keys, err := l.store.IncarnationKeys(ctx, masters)
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
		value, err := l.store.Incarnation(ctx, key, rand.Text())
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
		if err := keep(l.c.StateDir, storesFile, l.stores); err != nil {
			l.c.Logger.Warn("a loss of Redis' data while no daemon runs will not be seen", "error", err)
		}
	}
	return errors.Join(errs...)
}
