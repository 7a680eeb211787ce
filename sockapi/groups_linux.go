// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerGroups are the peer's supplementary groups, as they were when it connected (SO_PEERGROUPS, Linux 4.13; x/sys has the
// number alone).
func peerGroups(socket int) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(socket), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errors.Is(errno, unix.ERANGE): // size says how much it takes
			groups = make([]uint32, size/4)
		default:
			return nil, os.NewSyscallError("getsockopt", errno)
		}
	}
}
