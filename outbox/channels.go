// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"fmt"
	"time"
)

// Begin records that an attempt goes out now: Status Sending and Attempts = number, fsynced before the first byte. For
// at_most_once channels only; the others need no write before a send. It refuses a channel that is not Pending, or whose
// intent is not sendable: then nothing may be sent.
func (s *Store) Begin(ref Ref, channel string, number int) error {
	return s.change(ref, channel, func(origin Origin, d *Delivery) error {
		if origin != Committed && origin != Adopted || d.Status != Pending {
			return fmt.Errorf("cannot begin attempt %d of %s on channel %q: the intent is %s, the channel %s", number, ref.ID, channel, origin, d.Status)
		}
		d.Status = Sending
		d.Attempts = number
		return nil
	})
}

// Record writes an outcome. For Pending and Unknown, due is when the channel is tried again; for a settled status it is when
// the outcome is recorded on the ticket again if recorded is false.
//
// It is written on a closed intent too. What is Sent stays so, and what is settled stays settled: a later outcome of another kind
// changes nothing.
func (s *Store) Record(o Outcome, due time.Time, recorded bool) error {
	return s.change(o.Ref, o.Channel, func(_ Origin, d *Delivery) error {
		if d.Status == Sent && o.Status != Sent || d.Status.Settled() && !o.Status.Settled() {
			return nil
		}
		d.Recorded = recorded || d.Recorded && d.Status == o.Status
		d.Status = o.Status
		d.Attempts = max(d.Attempts, o.Number)
		d.At = wall(o.At)
		d.Error = o.Error
		d.Due = wall(due)
		return nil
	})
}

// Keep parks a channel of an intent that Redis lost, or takes note that it lost the ticket on which the channel is parked. The intent
// stays open, with its content, until a person decides here: Decide, Record as Sent, or Again.
func (s *Store) Keep(o Outcome) error {
	return s.change(o.Ref, o.Channel, func(_ Origin, d *Delivery) error {
		if !d.Status.Settled() || d.Status == Parked && !d.Lost {
			d.Status, d.Lost, d.Recorded, d.At, d.Error = Parked, true, true, wall(o.At), o.Error
		}
		return nil
	})
}

// Took notes during an attempt which recipients have it, so that no later attempt of this outbox gives it to them again.
func (s *Store) Took(ref Ref, channel string, all []string) error {
	return s.change(ref, channel, func(_ Origin, d *Delivery) error {
		d.Taken = all
		return nil
	})
}

// Recorded notes that a channel's settled status is on the ticket, and takes it out of what is due.
func (s *Store) Recorded(ref Ref, channel string) error {
	return s.change(ref, channel, isRecorded)
}

func isRecorded(_ Origin, d *Delivery) error {
	d.Recorded = d.Recorded || d.Status.Settled()
	return nil
}

// Postpone moves a channel's due time, and nothing else. What is not due at any time is left alone.
func (s *Store) Postpone(ref Ref, channel string, due time.Time) error {
	return s.change(ref, channel, func(origin Origin, d *Delivery) error {
		if d.isDue(origin) {
			d.Due = wall(due)
		}
		return nil
	})
}

// change writes what fn makes of a channel.
func (s *Store) change(ref Ref, channel string, fn func(Origin, *Delivery) error) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		return t.change(h, channel, fn)
	})
}

// change writes what fn makes of a channel, and moves the channel among what is due.
func (t *tx) change(h *head, channel string, fn func(Origin, *Delivery) error) error {
	was, err := t.channel(h.ID, channel)
	if err != nil {
		return err
	}
	is := was
	if err := fn(h.Origin, &is); err != nil {
		return err
	}
	moved := was.isDue(h.Origin) != is.isDue(h.Origin) || !was.Due.Equal(is.Due)
	if moved && was.isDue(h.Origin) {
		t.del(dueBucket, dueKey(was.Due, h.ID, channel))
	}
	if moved && is.isDue(h.Origin) {
		t.addDue(h.Ref, channel, is.Due)
	}
	t.putJSON(intentsBucket, channelKey(h.ID, channel), is)
	if was.isDue(h.Origin) != is.isDue(h.Origin) || was.Waits() != is.Waits() {
		return t.wait(h)
	}
	return nil
}
