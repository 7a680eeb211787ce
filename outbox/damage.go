// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
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

// SetAside renames a damaged outbox to a dated name beside it, which it returns, so that Open makes a new one. It refuses a
// file that a process has open, with ErrLocked.
func SetAside(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("cannot set the outbox aside: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = locked(path)
		}
		return "", fmt.Errorf("cannot set the outbox %s aside: %w", path, err)
	}
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("cannot set the outbox aside: %w", err)
	}
	return aside, syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
