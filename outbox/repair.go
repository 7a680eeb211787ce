// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// asideMost records that were taken out are kept in the file for a person, the newest.
const asideMost = 1000

var asideBucket = []byte("aside") // TIME BUCKET 0 KEY → the record as it was found

// Damaged is how many intents were taken out of the file since it was opened, because a record did not match its checksum or was
// missing.
func (s *Store) Damaged() int { return int(s.damaged.Load()) }

// repair takes out what is damaged. The engine adopts it again, of what stands on the tickets.
func (s *Store) repair() error {
	var lost []string
	err := s.writeOnce(false, func(t *tx) error {
		lost = t.repair()
		return nil
	})
	if err == nil {
		s.tell(lost)
	}
	return err
}

func (s *Store) tell(lost []string) {
	s.damaged.Add(int64(len(lost)))
	for _, what := range lost {
		s.log.Error("a record of the outbox was damaged and its intent is taken out; what is undelivered is taken from the ticket again, a receipt that the ticket lacks is lost",
			slog.String("file", s.path), slog.String("intent", what))
	}
}

// repair takes out every record that does not match its checksum, with the rest of its intent, and every intent that lacks a record.
// Then it makes the indexes anew. It returns what it took out, by intent and by ticket where that is known.
func (t *tx) repair() (lost []string) {
	heads := map[string]*head{}
	bad := map[string]bool{}
	for _, name := range [][]byte{intentsBucket, bodiesBucket} {
		for _, k := range t.prefixed(name, nil, -1) {
			id, _, isPart := bytes.Cut(k, []byte{0})
			if v, err := t.get(name, k); err != nil {
				bad[string(id)] = true
			} else if !isPart {
				h := &head{}
				bad[string(id)] = bad[string(id)] || json.Unmarshal(v, h) != nil
				heads[string(id)] = h
			}
		}
	}
	for _, name := range [][]byte{intentsBucket, bodiesBucket} {
		for _, k := range t.prefixed(name, nil, -1) {
			id, _, _ := bytes.Cut(k, []byte{0})
			bad[string(id)] = bad[string(id)] || heads[string(id)] == nil
		}
	}
	for id, h := range heads {
		bad[id] = bad[id] || !t.complete(h)
	}
	for _, id := range slices.Sorted(maps.Keys(bad)) {
		if !bad[id] {
			continue
		}
		what := id
		if h := heads[id]; h != nil {
			what += " of ticket " + h.Ticket
		}
		lost = append(lost, what)
		delete(heads, id)
		t.putAside(intentsBucket, []byte(id))
		for _, name := range [][]byte{intentsBucket, bodiesBucket} {
			for _, k := range t.prefixed(name, channelKey(id, ""), -1) {
				t.putAside(name, k)
			}
		}
	}
	t.reindex(heads)
	return lost
}

// complete reports whether an intent has all of its records.
func (t *tx) complete(h *head) bool {
	bodies := len(t.prefixed(bodiesBucket, channelKey(h.ID, ""), -1))
	return len(t.prefixed(intentsBucket, channelKey(h.ID, ""), -1)) == h.Parts && (h.Origin == Closed || bodies == h.Bodies)
}

func (t *tx) putAside(bucket, k []byte) {
	v := bytes.Clone(t.Bucket(bucket).Get(k))
	if v == nil {
		return
	}
	t.put(asideBucket, append(append(stamp(nil, time.Now()), bucket...), append([]byte{0}, k...)...), v)
	for _, old := range t.prefixed(asideBucket, nil, max(0, t.Bucket(asideBucket).Stats().KeyN-asideMost)) {
		t.del(asideBucket, old)
	}
	t.del(bucket, k)
}

// reindex makes the indexes and the counts of these intents.
func (t *tx) reindex(heads map[string]*head) {
	for _, name := range [][]byte{dueBucket, ticketsBucket, orderBucket} {
		t.wrote(t.DeleteBucket(name))
		_, err := t.CreateBucket(name)
		t.wrote(err)
	}
	t.recount = true
	for _, h := range heads {
		t.put(ticketsBucket, h.ticketKey(), nil)
		t.put(orderBucket, h.orderKey(), h.tally())
		channels, err := t.channels(h.ID)
		if err != nil && t.err == nil {
			t.err = err
		}
		for name, d := range channels {
			if d.isDue(h.Origin) {
				t.addDue(h.Ref, name, d.Due)
			}
		}
	}
}
