// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Boottime is the time since boot on CLOCK_BOOTTIME, which goes on while the machine sleeps, as Redis' clock does. Go's own
// monotonic clock stands still then, so no deadline of a lock may rest on it.
func Boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("cannot read CLOCK_BOOTTIME: %v", err)) // every Linux since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}

// BootID names this boot, in which alone what Boottime says can be compared; empty if the kernel does not tell.
func BootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
