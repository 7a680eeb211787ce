// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// stat is what /proc tells of a process (proc_pid_stat(5)).
type stat struct {
	pid, parent, group int
	name               string
	state              byte
}

// over reports whether the process runs no more, and only waits to be reaped.
func (s stat) over() bool { return s.state == 'Z' || s.state == 'X' }

// statOf reads a process' state. ok is false when it is gone.
func statOf(pid int) (s stat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, b)
}

func parseStat(pid int, b []byte) (s stat, ok bool) {
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')') // a name may have brackets and blanks of its own
	if from < 0 || to < from {
		return stat{}, false
	}
	fields := bytes.Fields(b[to+1:]) // PID (NAME) STATE PARENT GROUP …
	if len(fields) < 3 {
		return stat{}, false
	}
	s = stat{pid: pid, name: string(b[from+1 : to]), state: fields[0][0]}
	s.parent, _ = strconv.Atoi(string(fields[1]))
	s.group, _ = strconv.Atoi(string(fields[2]))
	return s, true
}

// eachProcess hands out every process that /proc shows.
func eachProcess(do func(stat)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := statOf(pid); ok {
			do(s)
		}
	}
}

// descendants returns the processes that come from this one, parents before their children, without those that have ended.
func descendants() []int {
	children := map[int][]int{}
	eachProcess(func(s stat) {
		if !s.over() {
			children[s.parent] = append(children[s.parent], s.pid)
		}
	})
	all := children[os.Getpid()]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// orphaned reports whether no parent in this session looks after this process' group (POSIX: orphaned process group).
func orphaned() bool {
	group, _ := unix.Getpgid(0)
	session, _ := unix.Getsid(0)
	for pid := os.Getppid(); pid > 0; {
		if g, err := unix.Getpgid(pid); err != nil || g != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
		s, _ := statOf(pid)
		pid = s.parent
	}
	return true
}
