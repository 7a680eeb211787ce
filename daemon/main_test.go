// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// configOfProcess names the configuration with which the test binary becomes a daemon, as systemd would start one.
const configOfProcess = "PICKET_TEST_DAEMON"

// diskOfProcess names a folder where that daemon, in a mount namespace of its own, mounts a disk of 2 MiB first.
const diskOfProcess = "PICKET_TEST_DISK"

// At the end of all tests, nothing that a daemon started may be left.
func TestMain(m *testing.M) {
	run, what := runProcess, os.Getenv(configOfProcess)
	if what == "" {
		run, what = runAgent, os.Getenv(agentOfProcess)
	}
	if what == "" {
		run, what = runSoak, os.Getenv(soakOfProcess)
	}
	if what != "" {
		if err := run(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runProcess(path string) error {
	if os.Getenv("LISTEN_FDS") != "" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	if dir := os.Getenv(diskOfProcess); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
			return fmt.Errorf("cannot mount a small disk: %w", err)
		}
	}
	c, err := LoadConfig(path)
	if err != nil {
		return err
	}
	d, err := New(c, Options{Audit: os.Stderr})
	if err != nil {
		return err
	}
	crashOnCue(d)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return d.Run(ctx)
}
