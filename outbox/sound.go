// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"os"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// sound reads every record once, in order. Its error is a *recordError only if the file makes sense otherwise.
func (s *Store) sound() error {
	return s.db.View(func(btx *bolt.Tx) error {
		c := census{place: map[string]int{}}
		for _, b := range []struct {
			name   []byte
			record func(k, v []byte) bool
		}{
			{orderBucket, c.intent}, // first, because the others are held against it
			{intentsBucket, c.part},
			{bodiesBucket, c.body},
			{ticketsBucket, func(_, _ []byte) bool { c.tickets++; return true }},
			{dueBucket, func(_, _ []byte) bool { return true }},
		} {
			if err := c.walk(btx.Bucket(b.name), b.name, b.record); err != nil {
				return err
			}
		}
		for i, l := range c.left {
			if c.bad == nil && l != (missing{head: true}) {
				c.bad = &recordError{string(orderBucket), c.name(i)}
			}
		}
		if c.bad == nil && c.tickets != len(c.left) {
			c.bad = &recordError{string(ticketsBucket), "a key that is missing"}
		}
		return c.bad
	})
}

// census counts the records of each intent.
type census struct {
	place   map[string]int // of an intent's id in left
	left    []missing
	id      []byte // the intent whose records are being read
	at      int    // its place
	tickets int
	bad     error // the last record that does not match its checksum or its intent
}

// missing is what was not found yet of an intent.
type missing struct {
	head             bool // it was found
	channels, bodies int
}

var pageSize = uintptr(os.Getpagesize())

// walk goes through a bucket in order. Of the keys that are beside each other on one page one is found by the tree if the other is, so
// only the first and the last of a page are looked up.
func (c *census) walk(b *bolt.Bucket, name []byte, record func(k, v []byte) bool) error {
	var last []byte
	var lastPage uintptr
	lost := func(k []byte) bool { return k != nil && b.Get(k) == nil }
	if err := b.ForEach(func(k, v []byte) error {
		page := uintptr(unsafe.Pointer(unsafe.SliceData(k))) / pageSize
		if v == nil || last != nil && bytes.Compare(k, last) <= 0 || page != lastPage && (lost(last) || lost(k)) {
			return errTree
		}
		last, lastPage = k, page
		value, err := unseal(name, k, v)
		if err == nil && !record(k, value) {
			err = &recordError{string(name), string(k)}
		}
		if err != nil {
			c.bad = err
		}
		return nil
	}); err != nil {
		return err
	}
	if lost(last) {
		return errTree
	}
	return nil
}

// intent reads the place of one in its order.
func (c *census) intent(k, v []byte) bool {
	origin, id, ok := parseOrder(k)
	y, known := parseTally(v)
	if _, twice := c.place[string(id)]; !ok || !known || twice {
		return false
	}
	if origin == Closed {
		y.bodies = 0
	}
	c.place[string(id)] = len(c.left)
	c.left = append(c.left, missing{channels: y.parts, bodies: y.bodies})
	return true
}

// part reads a head or a channel.
func (c *census) part(k, _ []byte) bool {
	l, isPart := c.find(k)
	switch {
	case l == nil:
		return false
	case isPart:
		l.channels--
	default:
		l.head = true
	}
	return true
}

func (c *census) body(k, _ []byte) bool {
	l, _ := c.find(k)
	if l != nil {
		l.bodies--
	}
	return l != nil
}

// find returns what is missing of the intent that a record belongs to, nil if there is none.
func (c *census) find(k []byte) (l *missing, isPart bool) {
	id, _, isPart := bytes.Cut(k, []byte{0})
	if !bytes.Equal(id, c.id) {
		at, ok := c.place[string(id)]
		if !ok {
			return nil, isPart
		}
		c.id, c.at = id, at
	}
	return &c.left[c.at], isPart
}

func (c *census) name(place int) string {
	for id, at := range c.place {
		if at == place {
			return id
		}
	}
	return ""
}
