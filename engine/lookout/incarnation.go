// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/picketd/picket/engine/store"
)

// Stores are the incarnations of all masters' data as they were last found, by key; none before the first look.
func (l *Lookout) Stores() map[string]string {
	if known := l.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Layout looks whether what stands in Redis is of this version's layout. Errors: a *store.LayoutError, and any store.ErrUnavailable.
func (l *Lookout) Layout(ctx context.Context) error {
	_, err := l.read(ctx)
	return err
}

// Enter is Layout before the loops begin. Without an answer nothing that stands in Redis is touched until a look has had one.
func (l *Lookout) Enter(ctx context.Context) error {
	err := l.Layout(ctx)
	if _, other := errors.AsType[*store.LayoutError](err); other {
		return err
	}
	if err != nil {
		l.store.BarUnread()
	}
	return nil
}

// read answers the incarnation of each master's data, by its key.
func (l *Lookout) read(ctx context.Context) (map[string]string, error) {
	masters, err := l.store.Masters(ctx)
	if err != nil {
		return nil, store.Unavailable(err)
	}
	keys, err := l.store.IncarnationKeys(ctx, masters)
	if err != nil {
		return nil, store.Unavailable(err)
	}
	found, err := l.store.Incarnations(ctx, keys)
	if err != nil {
		return nil, store.Unavailable(err)
	}
	return found, nil
}

// lookAtStores reads the incarnation of each master's data and makes it where it is missing. A key that was found once is read for
// ever: when its slot moves to another master, it moves along. From one master with another layout on nothing is touched on any.
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
	found, err := l.store.Incarnations(ctx, keys)
	if other, ok := errors.AsType[*store.LayoutError](err); ok {
		l.store.Bar(other)
		l.alarms.holds(AlarmLayout, other.Error())
		return other
	}
	errs := []error{err}
	ours := slices.ContainsFunc(slices.Collect(maps.Values(found)), func(value string) bool { return value != "" })
	if err != nil && !ours { // what the others have is not known
		return err
	}
	for key, value := range found {
		if value != "" {
			continue
		}
		if found[key], err = l.store.MakeIncarnation(ctx, key, rand.Text()); err != nil {
			delete(found, key)
			errs = append(errs, err)
		}
	}
	l.store.Bar(nil)
	l.alarms.holds(AlarmLayout, "")
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
	known := maps.Clone(l.stores)
	l.known.Store(&known)
	if !maps.Equal(before, l.stores) {
		if err := keep(l.c.StateDir, storesFile, l.stores); err != nil {
			l.c.Logger.Warn("a loss of Redis' data while no daemon runs will not be seen", "error", err)
		}
	}
	return errors.Join(errs...)
}

// Standing names the data that Redis has, of all masters: it is another when a master lost its data, was restarted, or was followed by a
// replica, also if it has followed that one again since: each of them may have an older state. It is as old as the last look, and empty when nobody can tell.
func (l *Lookout) Standing() string {
	if stands := l.stands.Load(); stands != nil {
		return *stands
	}
	return ""
}

// note keeps what Standing says, after a look at the masters that are these runs of a server.
func (l *Lookout) note(servers []string, err error) {
	if err != nil || slices.Contains(servers, "") {
		l.stands.Store(nil)
		return
	}
	slices.Sort(servers)
	sum := sha256.New()
	for _, server := range servers {
		fmt.Fprintln(sum, server)
	}
	for _, key := range slices.Sorted(maps.Keys(l.stores)) {
		fmt.Fprintln(sum, l.stores[key])
	}
	stands := hex.EncodeToString(sum.Sum(nil)[:8])
	l.stands.Store(&stands)
}
