// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// tx is a transaction with what it changes outside the file. Its first failed write sticks in err.
type tx struct {
	*bolt.Tx
	err     error
	dirty   bool
	delta   map[Origin]int   // of intents
	used    map[string]int64 // of Store.used
	waits   map[string]bool  // of Store.waits: whether it is there, of those that changed
	recount bool             // neither says what there is
	soonest time.Time        // of what was put into due; zero: nothing was
	oldest  time.Time        // of what is ready afterwards
}

func (t *tx) put(bucket, key, value []byte) {
	t.wrote(t.Bucket(bucket).Put(key, seal(key, value)))
}

// get returns a record's value, nil if there is none, or a *recordError.
func (t *tx) get(bucket, key []byte) ([]byte, error) {
	return unseal(bucket, key, t.Bucket(bucket).Get(key))
}

func (t *tx) putJSON(bucket, key []byte, v any) {
	b, err := json.Marshal(v)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.put(bucket, key, b)
}

func (t *tx) del(bucket, key []byte) {
	t.wrote(t.Bucket(bucket).Delete(key))
}

// wrote takes bbolt's answer to a change in memory. With the keys that validate lets through it fails only where the tree makes
// no sense.
func (t *tx) wrote(err error) {
	t.dirty = true
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("%w: %v", ErrDamaged, err)
	}
}

// prefixed returns the keys of a bucket that begin with prefix, at most limit (-1: all). They are copies, so that the bucket
// can be changed while they are gone through.
func (t *tx) prefixed(bucket, prefix []byte, limit int) (keys [][]byte) {
	c := t.Bucket(bucket).Cursor()
	var last []byte
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) != limit; k, _ = c.Next() {
		if last != nil && bytes.Compare(k, last) <= 0 { // a tree that makes no sense may have no end
			t.wrote(errTree)
			break
		}
		last = bytes.Clone(k)
		keys = append(keys, last)
	}
	return keys
}

// head returns the intent that has both the ticket and the id of ref, or ErrNotFound.
func (t *tx) head(ref Ref) (*head, error) {
	h, err := t.byID(ref.ID)
	if err == nil && h.Ticket == ref.Ticket {
		return h, nil
	}
	if err == nil {
		err = ErrNotFound
	}
	return nil, fmt.Errorf("%w: %s of ticket %q", err, ref.ID, ref.Ticket)
}

func (t *tx) byID(id string) (*head, error) {
	if id == "" {
		return nil, ErrNotFound
	}
	b, err := t.get(intentsBucket, []byte(id))
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, ErrNotFound
	}
	h := &head{}
	if err := json.Unmarshal(b, h); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return h, nil
}

// channel returns an intent's delivery on one channel, or ErrNotFound.
func (t *tx) channel(id, channel string) (d Delivery, err error) {
	b, err := t.get(intentsBucket, channelKey(id, channel))
	if err != nil {
		return d, err
	}
	if b == nil {
		return d, fmt.Errorf("%w: %s has no channel %q", ErrNotFound, id, channel)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return d, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return d, nil
}

// channels returns an intent's deliveries without bodies.
func (t *tx) channels(id string) (map[string]Delivery, error) {
	all := map[string]Delivery{}
	for _, k := range t.prefixed(intentsBucket, channelKey(id, ""), -1) {
		name := string(k[len(id)+1:])
		d, err := t.channel(id, name)
		if err != nil {
			return nil, err
		}
		all[name] = d
	}
	return all, nil
}

// view runs fn on a snapshot, and once more after what it found damaged was taken out.
func (s *Store) view(fn func(*tx) error) error {
	err := s.viewOnce(fn)
	if _, ok := errors.AsType[*recordError](err); ok && s.repair() == nil {
		err = s.viewOnce(fn)
	}
	return err
}

func (s *Store) viewOnce(fn func(*tx) error) (err error) {
	defer guard(&err)()
	s.swap.RLock()
	defer s.swap.RUnlock()
	err = s.db.View(func(btx *bolt.Tx) error { return fn(&tx{Tx: btx}) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return errClosed
	}
	return err
}

// guard turns a panic of the calling function into ErrDamaged. bbolt panics on pages that make no sense, and the memory that
// a broken page points to may not be there at all, which only SetPanicOnFault makes a panic. It is used as
// defer guard(&err)().
func guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}
}

// release closes a file that bbolt was not let to close. The lock is given up by name, because the mapping that is left behind
// would keep it.
func release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
