// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// hostError says that something is wrong with this host, not with an asset: every other asset would fail here as well. It is
// no failure of a step. This host's run pauses, and the assets are left to others.
type hostError struct{ cause error }

func (e *hostError) Error() string { return "something is wrong with this host: " + e.cause.Error() }
func (e *hostError) Unwrap() error { return e.cause }

func isHost(err error) bool {
	_, ok := errors.AsType[*hostError](err)
	return ok
}

// The exits with which a shell, and what runs others for a shell, says that a program cannot be run or is not there (POSIX,
// 2.8.2 Exit Status for Commands).
const exitCannotRun, exitNotFound = 126, 127

// exhausted are the errors of a kernel that has none left of what anybody here would need.
var exhausted = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EAGAIN, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO,
}

// blame makes a hostError of an error that has its cause in this host, and returns others as they are.
func blame(err error) error {
	if err != nil && !isHost(err) && slices.ContainsFunc(exhausted, func(e error) bool { return errors.Is(err, e) }) {
		return &hostError{err}
	}
	return err
}

// leastFree is what a folder must have free, in bytes, or nobody can work in it.
const leastFree = 1 << 20

// fullDisk tells of a folder in which scanners keep what they need and which has no room. A scanner that fails says so in many
// ways, or not at all.
func fullDisk() error {
	home, _ := os.UserCacheDir()
	for _, dir := range []string{os.TempDir(), ".", home} {
		var s unix.Statfs_t
		if dir == "" || unix.Statfs(dir, &s) != nil || s.Blocks == 0 || s.Flags&unix.ST_RDONLY != 0 {
			continue
		}
		if free := s.Bavail * uint64(s.Bsize); free < leastFree || s.Files > 0 && s.Ffree == 0 {
			return fmt.Errorf("no space is left in %s", dir)
		}
	}
	return nil
}
