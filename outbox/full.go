// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import "fmt"

// FullError says which MaxSize, in bytes, an intent finds no room under. It is an ErrFull.
type FullError struct{ MaxSize int64 }

func (e *FullError) Error() string {
	return fmt.Sprintf("the outbox has reached outbox.max_size_mib (%d MiB): raise it and restart the daemon, or see with "+
		"picket outbox ls what is not delivered", e.MaxSize>>20)
}

// Is makes it an ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

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
