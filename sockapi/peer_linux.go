// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/process"
)

// userHZ is the unit of start times in /proc, in ticks a second (proc_pid_stat(5), fixed in the kernel's interface).
const userHZ = 100

// credOf asks the kernel for the pid, uid and gid of who connected.
func credOf(c *net.UnixConn) (cred *unix.Ucred, err error) {
	err = ofSocket(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return os.NewSyscallError("getsockopt", err)
	})
	return cred, err
}

// peerOf asks the kernel for the rest. A process that is gone already, or cannot be opened, leaves Process nil and is
// foreign: its request may still be worth an answer.
func peerOf(c *net.UnixConn, cred *unix.Ucred) (peer engine.Peer, err error) {
	err = ofSocket(c, func(fd int) (err error) {
		peer, err = peerOfSocket(fd, cred)
		return err
	})
	return peer, err
}

func ofSocket(c *net.UnixConn, ask func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) { failed = ask(int(fd)) })
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("cannot tell the peer: %w", err)
	}
	return nil
}

func peerOfSocket(socket int, cred *unix.Ucred) (engine.Peer, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return engine.Peer{}, err
	}
	if cred.Uid == engine.Nobody {
		return engine.Peer{}, fmt.Errorf("its user is %d, which stands for any user of another namespace", engine.Nobody)
	}
	groups, err := peerGroups(socket)
	if err != nil {
		return engine.Peer{}, err
	}
	peer := engine.Peer{UID: cred.Uid, PID: int(cred.Pid), Groups: append(groups, cred.Gid)}
	pidfd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case err == nil:
		peer.Process, err = process.FromFD(pidfd, peer.PID, peer.UID)
	case (errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EINVAL)) && peer.PID != 0:
		peer.Process, err = openByPID(peer.PID, time.Duration(now.Nano()))
	}
	if err != nil { // whoever connected and ended, or cannot be looked at, may have been anybody
		peer.Foreign, peer.Mapped = true, true
		return peer, nil
	}
	peer.Foreign, peer.Mapped = peer.Process.Foreign(), peer.Process.Mapped()
	return peer, nil
}

// openByPID opens the peer by its pid, where the kernel has no pidfd for it (before 6.5). A process that started after the
// connection was accepted, at boot time now, has only the pid in common with the peer.
func openByPID(pid int, now time.Duration) (*process.Process, error) {
	p, err := process.Open(pid)
	if err != nil {
		return nil, err
	}
	if p.StartTime() > uint64(now/(time.Second/userHZ)) {
		p.Close()
		return nil, process.ErrNone
	}
	return p, nil
}

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
