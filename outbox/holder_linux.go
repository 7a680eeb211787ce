// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// locked is ErrLocked with the process that has the file, when it can be told.
func locked(path string) error {
	if pid := Holder(path); pid != 0 {
		return fmt.Errorf("%w: pid %d has it", ErrLocked, pid)
	}
	return ErrLocked
}

// Holder returns the pid of the process that has the outbox at path open, or 0. /proc/locks tells inodes, which other file systems have too, so a
// process counts only if the file is among those it has open.
func Holder(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	inode := ":" + strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		fds, _ := filepath.Glob("/proc/" + f[4] + "/fd/*")
		for _, fd := range fds {
			if open, err := os.Stat(fd); err == nil && os.SameFile(open, info) {
				pid, _ := strconv.Atoi(f[4])
				return pid
			}
		}
	}
	return 0
}
