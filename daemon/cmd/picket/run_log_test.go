// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestRunTellsPeopleInWords: what happened, to whom and why, as the lines of assets do, and nothing that steers the terminal.
func TestRunTellsPeopleInWords(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log := slog.New(wordsHandler{w: &b, least: slog.LevelWarn})
	log.Info("nobody needs this")
	log.Warn("calls are repeated", "error", errors.New("Redis is away"))
	log.Warn("a catalogue is old", "key", "step.intel.kev", "date", "2026-11-01")
	one := log.With("asset", "web-01")
	one.Warn("a step failed")
	one.Error("the host is \x1b[31mill", "step", "vuln", "error", errors.New("no memory"))
	want := "warning calls are repeated: Redis is away\n" +
		"warning a catalogue is old (key step.intel.kev, date 2026-11-01)\n" +
		"error   the host is \\x1b[31mill (asset web-01, step vuln): no memory\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
