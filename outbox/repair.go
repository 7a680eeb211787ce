// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// asideMost records that were taken out are kept in the file for a person, the newest.
const asideMost = 1000

var asideBucket = []byte("aside") // TIME BUCKET 0 KEY → the record as it was found

// Damaged is how many intents were taken out of the file since it was opened, because a record did not match its checksum or was
// missing.
func (s *Store) Damaged() int { return int(s.damaged.Load()) }

// errTree is met where the tree of keys makes no sense.
var errTree = errors.New("keys are not in order, or are no records")

// sound reads every record, and finds each by its key. Its error is a *recordError only if the file makes sense otherwise.
func (s *Store) sound() error {
	return s.db.View(func(btx *bolt.Tx) error {
		var bad error
		n := map[string]int{}
		missing := map[string]parts{}
		for _, name := range buckets {
			b := btx.Bucket(name)
			var last []byte
			if err := b.ForEach(func(k, v []byte) error {
				if v == nil || b.Get(k) == nil || last != nil && bytes.Compare(k, last) <= 0 {
					return errTree
				}
				last = k
				n[string(name)]++
				value, err := unseal(name, k, v)
				if err == nil {
					err = count(missing, name, k, value)
				}
				if err != nil {
					bad = err
				}
				return nil
			}); err != nil {
				return err
			}
		}
		heads := 0
		for id, p := range missing {
			if p.head {
				heads++
			}
			if bad == nil && p != (parts{head: true}) {
				bad = &recordError{string(intentsBucket), id}
			}
		}
		if bad == nil && (heads != n[string(ticketsBucket)] || heads != n[string(orderBucket)]) {
			bad = &recordError{string(orderBucket), "a key that is missing"}
		}
		return bad
	})
}

// parts are the records of an intent that were not found yet.
type parts struct {
	head             bool // it was found
	channels, bodies int
}

func count(missing map[string]parts, bucket, k, v []byte) error {
	id, _, isPart := bytes.Cut(k, []byte{0})
	inBodies := bytes.Equal(bucket, bodiesBucket)
	if !inBodies && !bytes.Equal(bucket, intentsBucket) {
		return nil
	}
	p := missing[string(id)]
	switch {
	case inBodies:
		p.bodies--
	case isPart:
		p.channels--
	default:
		var h head
		if err := json.Unmarshal(v, &h); err != nil {
			return &recordError{string(bucket), string(k)}
		}
		p.head = true
		p.channels += h.Parts
		if h.Origin != Closed {
			p.bodies += h.Bodies
		}
	}
	missing[string(id)] = p
	return nil
}

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
		t.put(orderBucket, h.orderKey(), nil)
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
