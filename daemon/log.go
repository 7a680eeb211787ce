// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLogger logs to f: text when it is a terminal, JSON otherwise.
func NewLogger(f *os.File) *slog.Logger {
	if term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(f, nil))
	}
	return slog.New(slog.NewJSONHandler(f, nil))
}
