// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"time"
)

// isDue reports whether a channel has a place among what is due when its intent's origin is origin.
func (d *Delivery) isDue(origin Origin) bool {
	switch origin {
	case Committed, Adopted:
		return !d.Status.Settled() || !d.Recorded
	case Closed:
		return d.Status == Sent && !d.Recorded
	}
	return false
}

func (t *tx) addDue(ref Ref, channel string, at time.Time) {
	t.put(dueBucket, dueKey(at, ref.ID, channel), []byte(ref.Ticket))
	if t.soonest.IsZero() || at.Before(t.soonest) {
		t.soonest = at
	}
}

// Due returns what is due by now, the most overdue first, at most limit, and when the next one after those is due (zero:
// none). It reads an index; its cost does not grow with the number of intents.
func (s *Store) Due(now time.Time, limit int) (due []Due, next time.Time, err error) {
	due, next, err = s.dueOnce(now, limit)
	if _, ok := errors.AsType[*recordError](err); ok && s.repair() == nil {
		due, next, err = s.dueOnce(now, limit)
	}
	return due, next, err
}

func (s *Store) dueOnce(now time.Time, limit int) (due []Due, next time.Time, err error) {
	// Held over the reading, so that wake compares with what was said last, and not with what was said before.
	s.next.Lock()
	defer s.next.Unlock()
	err = s.viewOnce(func(t *tx) error {
		c := t.Bucket(dueBucket).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			d, err := parseDue(k, v)
			if err != nil {
				return err
			}
			if len(due) == limit || d.At.After(now) {
				next = d.At
				return nil
			}
			due = append(due, d)
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	s.next.at = next
	return due, next, nil
}

// Newest returns what became due last of what is due by now, at most limit.
func (s *Store) Newest(now time.Time, limit int) (due []Due, err error) {
	err = s.view(func(t *tx) error {
		due = nil
		c := t.Bucket(dueBucket).Cursor()
		back := c.Prev
		if k, _ := c.Seek(stamp(nil, now.Add(1))); k == nil {
			back = c.Last
		}
		k, v := back()
		for ; k != nil && len(due) < limit; k, v = c.Prev() {
			d, err := parseDue(k, v)
			if err != nil {
				return err
			}
			due = append(due, d)
		}
		return nil
	})
	return due, err
}

// Changed is signalled (capacity 1) when something may have become due sooner than Due last said. It is never closed.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// wake signals that something is due at that time (zero: nothing was added), if Due did not say so.
func (s *Store) wake(at time.Time) {
	s.next.Lock()
	defer s.next.Unlock()
	if at.IsZero() || !s.next.at.IsZero() && !at.Before(s.next.at) {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
