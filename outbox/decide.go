// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"time"
)

// Decide takes over what the ticket says of an intent's channels that are not settled here: what an administrator decided, or what
// became of another daemon's attempt. They are facts from then on, also without Redis. When all channels are settled and on the ticket
// the intent is closed. What is settled here stays as it is, and what is not there is left alone.
func (s *Store) Decide(ref Ref, decided map[string]Status) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		for name, status := range decided {
			err := t.change(h, name, func(_ Origin, d *Delivery) error {
				if !d.Status.Settled() {
					d.Status, d.Recorded, d.At, d.Error = status, true, wall(time.Now()), ""
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		channels, err := t.channels(h.ID)
		if err != nil || h.Origin == Closed {
			return err
		}
		for _, d := range channels {
			if !d.Status.Settled() || !d.Recorded {
				return nil
			}
		}
		return t.shut(h)
	})
}

// Sendable returns committed and adopted intents from a place on, without content and bodies, at most limit, and the place of the next
// one; nil is before the first and after the last.
func (s *Store) Sendable(from []byte, limit int) (all []Intent, next []byte, err error) {
	err = s.view(func(t *tx) error {
		c := t.Bucket(orderBucket).Cursor()
		for _, origin := range []Origin{Adopted, Committed} { // as they are sorted
			start := []byte(origin)
			if bytes.Compare(from, start) > 0 {
				start = from
			}
			for k, _ := c.Seek(start); bytes.HasPrefix(k, []byte(origin)); k, _ = c.Next() {
				if len(all) == limit {
					next = bytes.Clone(k)
					return nil
				}
				in, err := t.listed(k[len(origin)+8:])
				if err != nil {
					return err
				}
				all = append(all, in)
			}
		}
		return nil
	})
	return all, next, err
}

// Soon returns the intents of which a channel is due by then, without content and bodies, the soonest first, at most limit.
func (s *Store) Soon(by time.Time, limit int) (all []Intent, err error) {
	err = s.view(func(t *tx) error {
		seen := map[string]bool{}
		c := t.Bucket(dueBucket).Cursor()
		for k, v := c.First(); k != nil && len(all) < limit; k, v = c.Next() {
			d, err := parseDue(k, v)
			if err != nil || d.At.After(by) {
				return err
			}
			if seen[d.ID] {
				continue
			}
			seen[d.ID] = true
			in, err := t.listed([]byte(d.ID))
			if err != nil {
				return err
			}
			all = append(all, in)
		}
		return nil
	})
	return all, err
}
