// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"cmp"
	"time"
)

// insert writes an intent, with all that goes with it.
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
	t.waits[in.ID] = onlyWaits(origin, in.Channels)
}

// putChannel writes a channel of an intent, with its body.
func (t *tx) putChannel(h *head, name string, d Delivery) {
	d.Status = cmp.Or(d.Status, Pending)
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

// revive makes a closed intent sendable again on those of in's channels that are settled neither there nor here, or are parked.
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
		if d.Status.Settled() && !d.Waits() {
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
	t.waits[h.ID] = onlyWaits(origin, channels)
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
	t.waits[h.ID] = false
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
