// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Ticket returns the intents of a ticket (ASSET/TASK), oldest first, closed ones too, without content and bodies.
func (s *Store) Ticket(ticket string) (all []Intent, err error) {
	err = s.view(func(t *tx) error {
		all = nil
		prefix := append([]byte(ticket), 0)
		for _, k := range t.prefixed(ticketsBucket, prefix, -1) {
			in, err := t.listed(k[len(prefix)+8:])
			if err != nil {
				return err
			}
			all = append(all, in)
		}
		return nil
	})
	return all, err
}

// List returns intents of one origin, or of all but Closed when origin is empty, oldest first, without content and bodies, at
// most limit. Closed ones go by when they were closed.
func (s *Store) List(origin Origin, limit int) ([]Intent, error) {
	origins := []Origin{origin}
	if origin == "" {
		origins = Unclosed()
	}
	all, _, err := s.Find(origins, "", limit)
	return all, err
}

// Unclosed are the origins of intents that are not closed.
func Unclosed() []Origin { return []Origin{Staged, Committed, Adopted} }

// Find returns intents of these origins as List does, those with a channel in status only unless that is empty, and whether
// there are more than limit.
func (s *Store) Find(origins []Origin, status Status, limit int) (all []Intent, more bool, err error) {
	err = s.view(func(t *tx) error {
		all = nil
		var keys [][]byte // without the origin
		for _, o := range origins {
			some, err := t.find(o, status, limit+1)
			if err != nil {
				return err
			}
			keys = append(keys, some...)
		}
		slices.SortFunc(keys, bytes.Compare)
		more = len(keys) > limit
		for _, k := range keys[:min(limit, len(keys))] {
			in, err := t.listed(k[8:])
			if err != nil {
				return err
			}
			all = append(all, in)
		}
		return nil
	})
	return all, more, err
}

// find returns the keys in order, without the origin, of the oldest intents of an origin with a channel in status, at most limit.
func (t *tx) find(origin Origin, status Status, limit int) (keys [][]byte, err error) {
	c := t.Bucket(orderBucket).Cursor()
	for k, _ := c.Seek([]byte(origin)); bytes.HasPrefix(k, []byte(origin)) && len(keys) < limit; k, _ = c.Next() {
		k := bytes.Clone(k[len(origin):])
		if status != "" {
			channels, err := t.channels(string(k[8:]))
			if err != nil {
				return nil, err
			}
			in := func(d Delivery) bool { return d.Status == status }
			if !slices.ContainsFunc(slices.Collect(maps.Values(channels)), in) {
				continue
			}
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func (t *tx) listed(id []byte) (Intent, error) {
	h, err := t.byID(string(id))
	if err != nil {
		return Intent{}, err
	}
	h.Channels, err = t.channels(h.ID)
	return h.Intent, err
}

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
	waits, err := t.findWaits()
	if err != nil {
		return err
	}
	s.counts, s.used, s.waits = counts, used, waits
	s.publish(t.findOldest(func(id string) bool { return waits[id] }))
	return nil
}

func (s *Store) publish(oldest time.Time) {
	s.stats.Store(&Stats{
		Staged: s.counts[Staged],
		Ready:  s.counts[Committed] + s.counts[Adopted] - len(s.waits),
		Oldest: oldest,
	})
}

// findOldest returns the At of the oldest intent that is ready, or zero.
func (t *tx) findOldest(waits func(id string) bool) (oldest time.Time) {
	c := t.Bucket(orderBucket).Cursor()
	for _, o := range []Origin{Committed, Adopted} {
		k, _ := c.Seek([]byte(o))
		for bytes.HasPrefix(k, []byte(o)) && waits(string(k[len(o)+8:])) {
			k, _ = c.Next()
		}
		if !bytes.HasPrefix(k, []byte(o)) {
			continue
		}
		if at := unstamp(k[len(o):]); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}
