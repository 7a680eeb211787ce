// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"fmt"
	"time"
)

// Decide takes over what the ticket, or a person here, says of an intent's channels that are not settled here, or wait: what an
// administrator decided, or what became of another daemon's attempt. They are facts from then on, also without Redis. When all channels
// are settled and on the ticket the intent is closed. What is settled here stays as it is, and what is not there is left alone.
func (s *Store) Decide(ref Ref, decided map[string]Status) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		return t.decide(h, decided)
	})
}

func (t *tx) decide(h *head, decided map[string]Status) error {
	for name, status := range decided {
		err := t.change(h, name, func(_ Origin, d *Delivery) error {
			if !d.Status.Settled() || d.Waits() {
				d.Unsure = d.Unsure || d.Status == Parked
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
		if !d.Status.Settled() || !d.Recorded || d.Waits() {
			return nil
		}
	}
	return t.shut(h)
}

// Again has a channel that waits here alone sent once more: an intent of its own, committed under a fresh id, takes its place, with the same key
// and bytes. No ticket knows that one, so nobody else can have it. ErrNotFound: nothing waits there.
func (s *Store) Again(ref Ref, channel, id string) error {
	return s.write(true, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		d, err := t.channel(h.ID, channel)
		switch {
		case err != nil:
			return err
		case h.Origin == Closed || !d.Alone():
			return fmt.Errorf("%w: nothing of %s waits on channel %q", ErrNotFound, h.ID, channel)
		}
		content, err := t.get(bodiesBucket, channelKey(h.ID, ""))
		if err != nil {
			return err
		}
		body, err := t.get(bodiesBucket, channelKey(h.ID, channel))
		if err != nil {
			return err
		}
		in := h.Intent
		in.ID, in.After, in.At, in.Content = id, h.ID, time.Now(), bytes.Clone(content)
		in.Boot, in.Clock, in.Token, in.Nonce, in.Agent = "", 0, 0, "", ""
		in.Channels = map[string]Delivery{channel: {Type: d.Type, AtMostOnce: d.AtMostOnce, Body: bytes.Clone(body), Lost: true, Retried: id}}
		t.insert(in, Committed)
		return t.decide(h, map[string]Status{channel: Discarded})
	})
}

// Sendable returns committed and adopted intents from a place on, without content and bodies, at most limit, and the place of the next
// one; nil is before the first and after the last.
func (s *Store) Sendable(from []byte, limit int) (all []Intent, next []byte, err error) {
	err = s.view(func(t *tx) error {
		all, next = nil, nil
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
		all = nil
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
