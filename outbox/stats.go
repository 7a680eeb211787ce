// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"fmt"
	"time"
)

// Stats returns the current Stats.
func (s *Store) Stats() Stats { return *s.stats.Load() }

// count counts the intents by their index: at the start, and when it is not known what a failed write left.
func (s *Store) count(t *tx) error {
	counts, used := map[Origin]int{}, map[string]int64{}
	if err := t.Bucket(orderBucket).ForEach(func(k, v []byte) error {
		origin, _, ok := parseOrder(k)
		raw, err := unseal(orderBucket, k, v)
		y, known := parseTally(raw)
		switch {
		case err != nil:
			return err
		case !ok || !known:
			return fmt.Errorf("%w: %q is in its order", ErrDamaged, k)
		}
		counts[origin]++
		if origin != Closed {
			used[string(y.user)] += y.size
		}
		return nil
	}); err != nil {
		return err
	}
	s.counts, s.used = counts, used
	s.publish(t.findOldest())
	return nil
}

func (s *Store) publish(oldest time.Time) {
	s.stats.Store(&Stats{
		Staged: s.counts[Staged],
		Ready:  s.counts[Committed] + s.counts[Adopted],
		Oldest: oldest,
	})
}

// findOldest returns the At of the oldest intent that is ready, or zero.
func (t *tx) findOldest() (oldest time.Time) {
	for _, o := range []Origin{Committed, Adopted} {
		for _, k := range t.prefixed(orderBucket, []byte(o), 1) {
			if at := unstamp(k[len(o):]); oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
	}
	return oldest
}
