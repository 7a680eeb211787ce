// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Lose ends all that runs on the host, with SIGKILL, and for good: nothing may be started there any more.
func (h *Host) Lose(ctx context.Context) error {
	h.lost.Store(true)
	h.Kill()
	for {
		out, err := exec.CommandContext(ctx, "ip", "netns", "pids", h.link.name).Output()
		pids := strings.Fields(string(out))
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			n, err := strconv.Atoi(pid)
			if err != nil {
				return err
			}
			_ = unix.Kill(n, unix.SIGKILL) // fails when it has ended meanwhile
		}
		time.Sleep(pollEvery)
	}
}

// Lost reports whether Lose was called.
func (h *Host) Lost() bool { return h.lost.Load() }
