// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// kernel tries what the daemon watches its agents with.
func (v *visit) kernel(context.Context) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		v.warn("kernel", "run Linux 5.3 or later, and let filters of system calls (seccomp) pass pidfd_open",
			"pidfd_open does not work (%v): the daemon looks at /proc instead, and learns of an agent's end a little later", err)
		return
	}
	_ = unix.Close(fd)
	if err := tryPeerPidfd(); err != nil {
		v.ok("kernel", "pidfd_open works; SO_PEERPIDFD (Linux 6.5) does not, and start times are compared instead")
		return
	}
	v.ok("kernel", "pidfd_open and SO_PEERPIDFD work")
}

func tryPeerPidfd() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	fd, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
