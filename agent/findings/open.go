// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"os"
	"syscall"
)

// Open opens a file for reading. It never waits for somebody at the other end of a pipe, and what is opened is what is
// looked at: anything but a regular file is an error. The path is in none of its errors.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
