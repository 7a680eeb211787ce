// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestADaemonWhoseSocketIsTakenAwayEnds: nobody could find it, and the next start makes another socket. A cleaner takes the lock file,
// too.
func TestADaemonWhoseSocketIsTakenAwayEnds(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	for _, file := range []string{h.socket, h.socket + ".lock"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
		t.Fatal("it goes on, and nobody can find it")
	}
	if code := h.cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(h.log.String(), "the socket "+h.socket+" was removed") {
		t.Errorf("it ends with %d: %s", code, &h.log)
	}
	if err := h.start(); err != nil {
		t.Error(err)
	}
}
