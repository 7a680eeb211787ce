// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/PID/stat says of a process.
type procStat struct {
	start uint64 // clock ticks since boot, field 22 in proc_pid_stat(5)
	ended bool   // it is a zombie: it does nothing any more
}

// procStatus is what /proc/PID/status says of a process, or fdinfo of its pidfd.
type procStatus struct {
	pid   int // of the process, in this PID namespace: -1 when it has ended, 0 when it cannot be seen from here
	uid   uint32
	nsPid int // in how many PID namespaces, from this one inwards, it has a pid
}

func readProcStat(pid int) (procStat, error) {
	b, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseProcStat(b)
}

// parseProcStat looks behind the last parenthesis, for the command's name may hold spaces and parentheses.
func parseProcStat(b []byte) (procStat, error) {
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 20 {
		return procStat{}, errors.New("cannot read a process' stat: it has too few fields")
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return procStat{}, errors.New("cannot read a process' stat: its start time is not a number")
	}
	return procStat{start: start, ended: strings.Contains("ZXx", fields[0])}, nil
}

func readProcStatus(pid int) (procStatus, error) {
	b, err := readProc(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return procStatus{}, err
	}
	return parseProcStatus(b)
}

func readPidfdInfo(fd int) (procStatus, error) {
	b, err := readProc(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return procStatus{}, err
	}
	return parseProcStatus(b)
}

// parseProcStatus takes Tgid before Pid, so that a thread is not mistaken for its process. Of the uids it takes the
// effective one, as SO_PEERCRED does.
func parseProcStatus(b []byte) (procStatus, error) {
	s := procStatus{}
	found := false
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case len(fields) == 0:
		case key == "Tgid" || key == "Pid" && !found:
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				return s, fmt.Errorf("cannot read a process' status: %s is not a number", key)
			}
			s.pid, found = n, true
		case key == "Uid" && len(fields) >= 2:
			n, err := strconv.ParseUint(fields[1], 10, 32)
			if err != nil {
				return s, errors.New("cannot read a process' status: Uid is not a number")
			}
			s.uid = uint32(n)
		case key == "NSpid":
			s.nsPid = len(fields)
		}
	}
	if !found {
		return s, errors.New("cannot read a process' status: it names no pid")
	}
	return s, nil
}

// sameUsers reports whether a process is seen to be in this process' user namespace. Only a privileged reader may see the namespace
// itself; the maps, as they are seen from here, anyone may: those of a namespace within this one lack users of it.
func sameUsers(pid int) bool {
	for _, file := range []string{"uid_map", "gid_map"} {
		theirs, err := readProc(fmt.Sprintf("/proc/%d/%s", pid, file))
		ours, ownErr := readProc("/proc/self/" + file)
		if err != nil || ownErr != nil || !bytes.Equal(theirs, ours) {
			return false
		}
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	ours, ownErr := os.Readlink("/proc/self/ns/user")
	return err != nil || ownErr != nil || theirs == ours
}

// readProc reads a file of a process. Its error is ErrNone when there is none.
func readProc(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, ErrNone
	}
	return b, err
}

// ErrNone says that a process does not exist or has ended.
var ErrNone = errors.New("no such process")
