// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"slices"
)

// Ticket returns the intents of a ticket (ASSET/TASK), oldest first, closed ones too, without content and bodies.
func (s *Store) Ticket(ticket string) (all []Intent, err error) {
	err = s.view(func(t *tx) error {
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
func (s *Store) List(origin Origin, limit int) (all []Intent, err error) {
	origins := []Origin{origin}
	if origin == "" {
		origins = []Origin{Staged, Committed, Adopted}
	}
	err = s.view(func(t *tx) error {
		var keys [][]byte // without the origin
		for _, o := range origins {
			for _, k := range t.prefixed(orderBucket, []byte(o), limit) {
				keys = append(keys, k[len(o):])
			}
		}
		slices.SortFunc(keys, bytes.Compare)
		for _, k := range keys[:min(limit, len(keys))] {
			in, err := t.listed(k[8:])
			if err != nil {
				return err
			}
			all = append(all, in)
		}
		return nil
	})
	return all, err
}

func (t *tx) listed(id []byte) (Intent, error) {
	h, err := t.byID(string(id))
	if err != nil {
		return Intent{}, err
	}
	h.Channels, err = t.channels(h.ID)
	return h.Intent, err
}
