// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A bbolt file never shrinks. Once a minute it is looked whether most of it is free; if so, what is left is copied into a new file.
// Writes wait for that, so it is done only where it is short: compactMost took 0.3 s on a disk that syncs in 0.6 ms.
const (
	compactEvery = time.Minute
	compactLeast = 16 << 20 // bytes of a file that is worth it
	compactRatio = 4        // so many times what is in it
	compactMost  = 32 << 20 // bytes that are copied
	compactStep  = 4 << 20  // bytes that are copied at once, held in memory

	compacting = ".compact" // the suffix of the new file until it takes the old one's place
)

// tidy compacts the file if that is due and worth it. The caller has the turn. A failure leaves the file as it is.
func (s *Store) tidy() {
	now := time.Now()
	if s.closed || s.broken != nil || now.Sub(s.looked) < compactEvery {
		return
	}
	s.looked = now
	size, used, err := s.room()
	if err == nil {
		if size < compactLeast || size < compactRatio*used || used > compactMost {
			return
		}
		err = s.compact()
	}
	if err != nil {
		s.log.Warn("cannot make the outbox file smaller; it is tried again in a minute", "file", s.path, "bytes", size, "error", err)
		return
	}
	s.log.Info("made the outbox file smaller", "file", s.path, "bytes", size, "used", used, "took", time.Since(now))
}

// room is how many bytes the file has, and how many of them are not free.
func (s *Store) room() (size, used int64, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, 0, err
	}
	err = s.view(func(t *tx) error {
		stats := s.db.Stats()
		used = t.Size() - int64(stats.FreePageN+stats.PendingPageN)*int64(s.db.Info().PageSize)
		return nil
	})
	return info.Size(), used, err
}

// compact puts a file with the same content in the old one's place. Its bytes are on the disk before it gets the name, and the name
// is before anything is written to it: a crash leaves the one file or the other, whole, and perhaps a new one without the name,
// which Open removes.
func (s *Store) compact() (err error) {
	var fresh *bolt.DB
	var file *os.File
	defer func() {
		if err != nil && fresh != nil {
			err = errors.Join(err, fresh.Close(), os.Remove(s.path+compacting))
		}
	}()
	if fresh, err = s.copy(&file); err != nil {
		return err
	}
	s.at("copied")
	s.swap.Lock()
	defer s.swap.Unlock()
	if err := os.Rename(s.path+compacting, s.path); err != nil {
		return err
	}
	s.at("renamed")
	old := s.db
	s.db, s.file = fresh, file
	fresh = nil
	if err := syncDir(filepath.Dir(s.path)); err != nil { // which of the two a crash would leave is not known
		s.broken = fmt.Errorf("cannot write the outbox %s: %w", s.path, err)
		return errors.Join(s.broken, old.Close())
	}
	s.at("swapped")
	return old.Close()
}

// copy makes the new file and has it synced.
func (s *Store) copy(file **os.File) (fresh *bolt.DB, err error) {
	defer guard(&err)()
	if err := os.Remove(s.path + compacting); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if fresh, err = openFile(s.path+compacting, DefaultLockTimeout, file); err != nil {
		return nil, err
	}
	fresh.NoSync = true
	if err := bolt.Compact(fresh, s.db, compactStep); err != nil {
		return fresh, err
	}
	fresh.NoSync = s.db.NoSync
	return fresh, fresh.Sync()
}

// at calls the test that waits for a point of the way, if there is one.
func (s *Store) at(point string) {
	if s.passes != nil {
		s.passes(point)
	}
}
