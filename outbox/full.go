// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
)

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
