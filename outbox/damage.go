// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

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
