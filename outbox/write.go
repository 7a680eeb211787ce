// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// write has fn committed and synced. Whoever gets the turn commits for all that wait, so that one caller alone pays for one
// fsync and waits for nobody, and many share one.
func (s *Store) write(grows bool, fn func(*tx) error) error {
	err := s.writeOnce(grows, fn)
	if _, ok := errors.AsType[*recordError](err); ok && s.repair() == nil {
		err = s.writeOnce(grows, fn)
	}
	return err
}

func (s *Store) writeOnce(grows bool, fn func(*tx) error) error {
	o := &op{fn: fn, grows: grows, done: make(chan struct{})}
	s.queue.Lock()
	s.queue.ops = append(s.queue.ops, o)
	s.queue.Unlock()
	select {
	case s.turn <- struct{}{}:
		runtime.Gosched() // those whom the last turn set free come back first, or every other turn would be of one
		s.queue.Lock()
		ops := s.queue.ops
		s.queue.ops = nil
		s.queue.Unlock()
		s.writeBatch(ops)
		s.tidy()
		<-s.turn
	case <-o.done:
	}
	<-o.done // closed in this turn, or in the one before it
	return o.err
}

// writeBatch writes ops in one transaction. If that fails, each gets one of its own, so that what fills the file does not keep out
// what empties it.
func (s *Store) writeBatch(ops []*op) {
	err := s.update(ops)
	for _, o := range ops {
		if err != nil {
			o.err = err
			if len(ops) > 1 {
				o.err = nil
				if solo := s.update([]*op{o}); solo != nil {
					o.err = solo
				}
			}
		}
		if o.grows && (o.err == nil || errors.Is(o.err, ErrFull)) && !overShare(o.err) {
			s.setFull(o.err)
		}
		close(o.done)
	}
}

// update writes ops in one transaction. Its error is the transaction's; what an op refused is in op.err.
func (s *Store) update(ops []*op) error {
	if s.closed {
		return errClosed
	}
	if s.broken != nil {
		return s.broken
	}
	s.db.MaxSize = 0
	for _, o := range ops {
		if o.grows {
			s.db.MaxSize = s.limit
		}
	}
	t := &tx{delta: map[Origin]int{}, used: map[string]int64{}, waits: map[string]bool{}}
	err := s.transact(t, ops)
	if !errors.Is(err, errNothing) {
		s.failed.Store(err != nil && !errors.Is(err, berrors.ErrMaxSizeReached))
	}
	switch {
	case err == nil:
		if t.recount {
			s.wake(t.soonest)
			return s.viewOnce(s.count)
		}
		for origin, n := range t.delta {
			s.counts[origin] += n
		}
		for user, n := range t.used {
			if s.used[user] += n; s.used[user] == 0 {
				delete(s.used, user)
			}
		}
		for id, waits := range t.waits {
			if delete(s.waits, id); waits {
				s.waits[id] = true
			}
		}
		s.publish(t.oldest)
		s.wake(t.soonest)
		return nil
	case errors.Is(err, errNothing):
		return nil
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return &FullError{MaxSize: int64(s.limit)}
	case errors.Is(err, ErrDamaged):
		s.broken = fmt.Errorf("cannot write the outbox %s: %w", s.path, err)
		return s.broken
	}
	// When the last fsync fails, what was written may stand all the same.
	if err := s.viewOnce(s.count); err == nil {
		s.wake(time.Unix(0, 0))
	}
	return fmt.Errorf("cannot write the outbox: %w", err)
}

func (s *Store) transact(t *tx, ops []*op) (err error) {
	defer guard(&err)()
	return s.db.Update(func(btx *bolt.Tx) error {
		t.Tx = btx
		for _, o := range ops {
			o.err = o.fn(t)
		}
		if !t.dirty {
			return errNothing
		}
		s.prune(t, 2*len(ops))
		t.oldest = t.findOldest(func(id string) bool {
			waits, changed := t.waits[id]
			return waits || !changed && s.waits[id]
		})
		return t.err
	})
}

// Full is a *FullError when the last intent found no room, and a notification of probeRoom would find none now.
func (s *Store) Full() error {
	if !s.full.Load() {
		return nil
	}
	return s.probe(true)
}

// setFull notes whether an intent found room, and logs when that changes.
func (s *Store) setFull(err error) {
	switch was := s.full.Swap(err != nil); {
	case err != nil && !was:
		s.log.Error("no more notifications are accepted", "file", s.path, "error", err)
	case err == nil && was:
		s.log.Info("there is room in the outbox again", "file", s.path)
	}
}

// FullError says which MaxSize, in bytes, an intent finds no room under. It is an ErrFull.
type FullError struct {
	MaxSize int64
	User    string // whose share is used up; empty: it is full for everybody
}

func (e *FullError) Error() string {
	if e.User != "" {
		return fmt.Sprintf("what user %s has in the outbox undelivered takes as much of outbox.max_size_mib (%d MiB) as is free for all: "+
			"see with picket outbox ls what is not delivered", e.User, e.MaxSize>>20)
	}
	return fmt.Sprintf("the outbox has reached outbox.max_size_mib (%d MiB): raise it and restart the daemon, or see with "+
		"picket outbox ls what is not delivered", e.MaxSize>>20)
}

// Is makes it an ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// overShare reports whether an intent was refused for its user alone.
func overShare(err error) bool {
	full, ok := errors.AsType[*FullError](err)
	return ok && full.User != ""
}

// perIntent is about what an intent takes in the file beside its content and bodies, in bytes.
const perIntent = 2 << 10

// size is about what an intent takes in the file, in bytes.
func (in *Intent) size() int64 {
	n := perIntent + len(in.Content)
	for _, d := range in.Channels {
		n += len(d.Body)
	}
	return int64(n)
}

// share refuses an intent when its user would have more in the outbox than is free then. So one user alone fills half of it, and
// there is always room for another. What has no user was accepted before, or is an administrator's word.
func (s *Store) share(t *tx, in *Intent) error {
	if in.User == "" {
		return nil
	}
	free := int64(s.limit-closedSize*(s.counts[Closed]+t.delta[Closed])) - in.size()
	for _, used := range []map[string]int64{s.used, t.used} {
		for _, n := range used {
			free -= n
		}
	}
	if s.used[in.User]+t.used[in.User]+in.size() > free {
		return &FullError{int64(s.limit), in.User}
	}
	return nil
}
