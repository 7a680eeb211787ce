// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"fmt"
)

// onlyWaits reports whether nothing is left to be done for an intent but what a person decides. It is open and costs nothing, but for
// the engine's round that asks its ticket in turn, and counts as neither ready nor old.
func onlyWaits(origin Origin, channels map[string]Delivery) (waits bool) {
	for _, d := range channels {
		if d.isDue(origin) {
			return false
		}
		waits = waits || d.Waits()
	}
	return waits && (origin == Committed || origin == Adopted)
}

// wait notes in what is to become of Store.waits how an intent is now.
func (t *tx) wait(h *head) error {
	channels, err := t.channels(h.ID)
	t.waits[h.ID] = err == nil && onlyWaits(h.Origin, channels)
	return err
}

// findWaits reads through the channels for Store.waits. Few wait, so no more than those are taken apart.
func (t *tx) findWaits() (waits map[string]bool, err error) {
	waits = map[string]bool{}
	parked := fmt.Appendf(nil, "%q", Parked)
	lost := []byte(`"lost":true`)
	err = t.Bucket(intentsBucket).ForEach(func(k, v []byte) error {
		id, _, isChannel := bytes.Cut(k, []byte{0})
		if !isChannel || !bytes.Contains(v, parked) && !bytes.Contains(v, lost) {
			return nil
		}
		h, err := t.byID(string(id))
		if err != nil {
			return err
		}
		channels, err := t.channels(h.ID)
		if onlyWaits(h.Origin, channels) {
			waits[h.ID] = true
		}
		return err
	})
	return waits, err
}
