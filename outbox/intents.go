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
