// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clockSource is the library that redis-server loads before libc, for whose functions it stands in. libfaketime does not work with
// Redis' own allocator.
//
//go:embed preload/clock.c
var clockSource string

func clockLibrary() string { return filepath.Join(private, "clock.so") }

// compileClock makes the library.
func compileClock(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "gcc", "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o", clockLibrary(), "-x", "c", "-")
	cmd.Stdin = strings.NewReader(clockSource)
	if err := output(cmd); err != nil {
		return fmt.Errorf("cannot make the library that steps clocks: %w", err)
	}
	return nil
}

// clock is by how much the time of a server is ahead, in a file of 8 bytes that the server has mapped, too.
type clock struct {
	path   string
	memory []byte
}

func newClock(path string) (*clock, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(8); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return &clock{path, memory}, err
}

func (c *clock) env() []string {
	return []string{"LD_PRELOAD=" + clockLibrary(), "PICKET_PROOF_CLOCK=" + c.path}
}

func (c *clock) step(d time.Duration) {
	atomic.AddInt64((*int64)(unsafe.Pointer(&c.memory[0])), d.Nanoseconds())
}

func (c *clock) close() { _ = unix.Munmap(c.memory) }
