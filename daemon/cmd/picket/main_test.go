// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestMain makes this test binary the command picket, too, for scripts and tests that need real processes. Signals that are ignored
// here, as under nohup or in the background of a script, are caught: then they are at their default in new processes.
func TestMain(m *testing.M) {
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	testscript.Main(m, map[string]func(){"picket": main})
}
