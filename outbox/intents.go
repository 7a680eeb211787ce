// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxName bounds in bytes what becomes part of a key; bbolt's keys hold 32 KiB.
const maxName = 4096

// Stage writes an intent that is not sendable. The ID must be fresh. It answers ErrFull too when the intent's user has as much in
// the outbox as is free.
func (s *Store) Stage(in Intent) error {
	if err := in.validate(); err != nil {
		return err
	}
	return s.write(true, func(t *tx) error {
		switch _, err := t.byID(in.ID); {
		case err == nil:
			return fmt.Errorf("cannot stage %s: the outbox has an intent with this id", in.ID)
		case !errors.Is(err, ErrNotFound):
			return err
		}
		if err := s.share(t, &in); err != nil {
			return err
		}
		t.insert(in, Staged)
		return nil
	})
}

// Commit makes a staged intent sendable. Committing what is committed or closed already is no error.
func (s *Store) Commit(ref Ref) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil || h.Origin != Staged {
			return err
		}
		return t.turn(h, Committed)
	})
}

// Adopt writes an intent whose content was taken from the ticket, sendable at once. If the store has an intent with this ID,
// it is left as it is, but for a staged one, which is committed, and a closed one: the ticket fell back, so what is not settled
// here either is sent after all. What is settled here stays so.
func (s *Store) Adopt(in Intent) error {
	if err := in.validate(); err != nil {
		return err
	}
	return s.write(true, func(t *tx) error {
		h, err := t.byID(in.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			t.insert(in, Adopted)
			return nil
		case err != nil:
			return err
		case h.Ticket != in.Ticket:
			return fmt.Errorf("cannot adopt %s for ticket %q: the outbox has it for ticket %q", in.ID, in.Ticket, h.Ticket)
		case h.Origin == Staged:
			return t.turn(h, Committed)
		case h.Origin == Closed:
			return t.revive(h, in)
		}
		return nil
	})
}

// Yield makes a committed intent one that others may deliver too, as an adopted one is. What is not committed is left as it is.
func (s *Store) Yield(ref Ref) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil || h.Origin != Committed {
			return err
		}
		return t.turn(h, Adopted)
	})
}

// Drop removes a staged intent. What is not staged, or not there, is left alone.
func (s *Store) Drop(ref Ref) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || h.Origin != Staged:
			return err
		}
		return t.remove(h)
	})
}

// Shut closes an intent: content and bodies leave, and nothing of it is tried again. Its receipts stay, and a channel that is
// Sent and not Recorded stays due until it is, because what was sent must come to stand on the ticket. In the same write the
// named channels become Recorded.
func (s *Store) Shut(ref Ref, recorded ...string) error {
	return s.write(false, func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		for _, channel := range recorded {
			if err := t.change(h, channel, isRecorded); err != nil {
				return err
			}
		}
		if h.Origin == Closed {
			return nil
		}
		return t.shut(h)
	})
}

func (t *tx) shut(h *head) error {
	h.Token, h.Nonce, h.Agent = 0, "", ""
	h.ClosedAt = wall(time.Now())
	if err := t.turn(h, Closed); err != nil {
		return err
	}
	t.dropBodies(h.ID)
	return nil
}

// Get returns an intent with its content and bodies, or ErrNotFound.
func (s *Store) Get(ref Ref) (in Intent, err error) {
	err = s.view(func(t *tx) error {
		h, err := t.head(ref)
		if err != nil {
			return err
		}
		in = h.Intent
		if in.Channels, err = t.channels(in.ID); err != nil {
			return err
		}
		content, err := t.get(bodiesBucket, channelKey(in.ID, ""))
		if err != nil {
			return err
		}
		in.Content = bytes.Clone(content)
		for name, d := range in.Channels {
			body, err := t.get(bodiesBucket, channelKey(in.ID, name))
			if err != nil {
				return err
			}
			d.Body = bytes.Clone(body)
			in.Channels[name] = d
		}
		return nil
	})
	return in, err
}

// Heads returns intents without channels, content and bodies, in the order of refs; of one that is not there, an empty one.
func (s *Store) Heads(refs []Ref) (all []Intent, err error) {
	err = s.view(func(t *tx) error {
		all = nil
		for _, ref := range refs {
			h, err := t.head(ref)
			switch {
			case errors.Is(err, ErrNotFound):
				h = &head{}
			case err != nil:
				return err
			}
			all = append(all, h.Intent)
		}
		return nil
	})
	return all, err
}

// validate refuses what the keys of the file cannot hold.
func (in *Intent) validate() error {
	for _, name := range append(slices.Collect(maps.Keys(in.Channels)), in.ID, in.Ticket) {
		if name == "" || len(name) > maxName || strings.Contains(name, "\x00") {
			return fmt.Errorf("cannot keep intent %.80q: %.80q must have 1 to %d bytes, none of them zero", in.ID, name, maxName)
		}
	}
	return nil
}

func (t *tx) insert(in Intent, origin Origin) {
	in.Origin = origin
	in.At = wall(in.At)
	h := &head{Intent: in, Size: in.size(), Parts: len(in.Channels)}
	if in.Content != nil {
		h.Bodies++
	}
	for _, d := range in.Channels {
		if d.Body != nil {
			h.Bodies++
		}
	}
	t.putJSON(intentsBucket, []byte(in.ID), h)
	t.put(ticketsBucket, h.ticketKey(), nil)
	t.count(h, 1)
	if in.Content != nil {
		t.put(bodiesBucket, channelKey(in.ID, ""), in.Content)
	}
	for name, d := range in.Channels {
		t.putChannel(h, name, d)
	}
}

// putChannel writes a channel of an intent, with its body.
func (t *tx) putChannel(h *head, name string, d Delivery) {
	if d.Status == "" {
		d.Status = Pending
	}
	if d.Due.IsZero() {
		d.Due = h.At
	}
	d.Due, d.At = wall(d.Due), wall(d.At)
	t.putJSON(intentsBucket, channelKey(h.ID, name), d)
	if d.isDue(h.Origin) {
		t.addDue(h.Ref, name, d.Due)
	}
	if d.Body != nil {
		t.put(bodiesBucket, channelKey(h.ID, name), d.Body)
	}
}

// revive makes a closed intent sendable again on those of in's channels that are settled neither there nor here.
func (t *tx) revive(h *head, in Intent) error {
	kept, err := t.channels(h.ID)
	if err != nil {
		return err
	}
	revived := false
	for name, d := range in.Channels {
		if was, known := kept[name]; known {
			was.Body, was.Due = d.Body, d.Due
			d = was
		}
		if d.Status.Settled() {
			continue
		}
		t.putChannel(h, name, d)
		revived = true
	}
	if !revived {
		return nil
	}
	for name, d := range kept { // what in has not is done on the ticket, or none of this host's, and has no body to send
		switch _, given := in.Channels[name]; {
		case given || d.Status.Settled():
		case d.AtMostOnce && d.Status != Pending:
			d.Status, d.Recorded = Parked, true
			t.putJSON(intentsBucket, channelKey(h.ID, name), d)
		default:
			t.del(intentsBucket, channelKey(h.ID, name))
		}
	}
	t.put(bodiesBucket, channelKey(h.ID, ""), in.Content)
	return t.turn(h, Adopted)
}

// turn gives an intent another origin, and its channels the place among what is due that goes with it.
func (t *tx) turn(h *head, origin Origin) error {
	channels, err := t.channels(h.ID)
	if err != nil {
		return err
	}
	was := h.Origin
	t.count(h, -1)
	if was == Closed {
		h.ClosedAt = time.Time{}
	}
	h.Origin, h.Parts = origin, len(channels)
	h.Bodies = len(t.prefixed(bodiesBucket, channelKey(h.ID, ""), -1))
	t.count(h, 1)
	t.putJSON(intentsBucket, []byte(h.ID), h)
	for name, d := range channels {
		switch {
		case d.isDue(was) && !d.isDue(origin):
			t.del(dueBucket, dueKey(d.Due, h.ID, name))
		case !d.isDue(was) && d.isDue(origin):
			t.addDue(h.Ref, name, d.Due)
		}
	}
	return nil
}

// remove takes an intent out of the file, and out of every index.
func (t *tx) remove(h *head) error {
	channels, err := t.channels(h.ID)
	if err != nil {
		return err
	}
	for name, d := range channels {
		if d.isDue(h.Origin) {
			t.del(dueBucket, dueKey(d.Due, h.ID, name))
		}
		t.del(intentsBucket, channelKey(h.ID, name))
	}
	t.dropBodies(h.ID)
	t.del(intentsBucket, []byte(h.ID))
	t.del(ticketsBucket, h.ticketKey())
	t.count(h, -1)
	return nil
}

func (t *tx) dropBodies(id string) {
	for _, k := range t.prefixed(bodiesBucket, channelKey(id, ""), -1) {
		t.del(bodiesBucket, k)
	}
}

// count puts an intent into the order of its origin (n 1) or takes it out (n -1).
func (t *tx) count(h *head, n int) {
	if n > 0 {
		t.put(orderBucket, h.orderKey(), h.tally())
	} else {
		t.del(orderBucket, h.orderKey())
	}
	t.delta[h.Origin] += n
	if h.Origin != Closed {
		t.used[h.User] += int64(n) * h.Size
	}
}
