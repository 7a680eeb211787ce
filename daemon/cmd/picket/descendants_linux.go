// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// descendants returns the processes that come from this one, parents before their children, without those that have ended.
func descendants() []int {
	children := map[int][]int{}
	eachProcess(func(pid int, state byte, parent int) {
		if state != 'Z' {
			children[parent] = append(children[parent], pid)
		}
	})
	all := children[os.Getpid()]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// reapOrphans takes away who lost its parent, became a child of this process, and has ended; not the command itself.
func reapOrphans(command int) {
	eachProcess(func(pid int, state byte, parent int) {
		if state == 'Z' && parent == os.Getpid() && pid != command {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	})
}

func eachProcess(do func(pid int, state byte, parent int)) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if state, parent := stat(pid); state != 0 {
			do(pid, state, parent)
		}
	}
}

// parentOf returns the parent of a process, or 0 if there is none.
func parentOf(pid int) int {
	_, parent := stat(pid)
	return parent
}

// stat reads a process' state (proc_pid_stat(5)) and its parent: 0 and 0 if it has ended meanwhile.
func stat(pid int) (state byte, parent int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// PID (NAME) STATE PPID …; a name may have brackets and blanks of its own.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}
