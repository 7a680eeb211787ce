// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"path/filepath"
	"syscall"
)

const (
	ampleRoom = 1 << 20  // bytes that are free on the disk when no write need be tried
	probeRoom = 64 << 10 // bytes that are written where that is in doubt: about a notification, with its bodies
)

var probeKey = []byte("probe")

// Writable reports why the next notification could not be kept, beside a full MaxSize, which Full tells: the file is closed or damaged, the disk is
// full, read-only or broken. It writes only where that is in doubt, because a daemon asks often.
func (s *Store) Writable() error {
	err := s.write(false, func(*tx) error { return nil }) // nothing, but it goes the way of a write
	if err != nil || !s.failed.Load() && s.ample() {
		return err
	}
	return s.probe(false)
}

// probe writes probeRoom bytes, and takes them out again.
func (s *Store) probe(grows bool) error {
	if err := s.write(grows, func(t *tx) error {
		t.put(metaBucket, probeKey, make([]byte, probeRoom))
		return nil
	}); err != nil {
		return err
	}
	return s.write(false, func(t *tx) error {
		t.del(metaBucket, probeKey)
		return nil
	})
}

// ample reports whether the disk has room, as far as the system says.
func (s *Store) ample() bool {
	const readOnly = 1 // ST_RDONLY of statvfs(3)
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(s.path), &disk)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Statfs(filepath.Dir(s.path), &disk)
	}
	return err == nil && disk.Flags&readOnly == 0 && disk.Bavail >= ampleRoom/uint64(disk.Bsize)
}
