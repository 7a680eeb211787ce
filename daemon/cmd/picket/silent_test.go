// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsEndWhenNobodyAnswers: as when systemd holds the socket and the daemon does not start.
func TestCommandsEndWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket) // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for line, want := range map[string]int{
		"status": exitUnavailable, "ticket ls": exitUnavailable, "ticket show a t": exitUnavailable, "claim ls": exitUnavailable,
		"outbox ls": exitUnavailable, "channel test ops": exitUnavailable, "heartbeat --claim c": exitUnavailable,
		"exec a t -- true": exitInternal,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("picket", append([]string{"--socket", socket}, strings.Fields(line)...)...)
			out, _ := cmd.CombinedOutput() // how it ended is asked for below
			code := cmd.ProcessState.ExitCode()
			if code != want || !strings.Contains(string(out), "the daemon does not answer within 10s: systemctl status picketd") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}
