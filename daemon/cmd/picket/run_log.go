// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/lines"
)

// logger logs to standard error: words for people above the line of progress, else to the journal or as JSON. On a terminal only
// what went wrong is of interest, and of an asset only what its own line does not tell.
func (o *runOutput) logger() *slog.Logger {
	if o.terminal {
		return slog.New(wordsHandler{w: o.errs, least: slog.LevelWarn})
	}
	return lines.NewLogger(o.c.App.ErrWriter, o.log)
}

// wordsHandler writes records as lines for people, beside those of the assets. It leaves out what concerns one asset and is no
// error: a step that failed and is tried again, say.
type wordsHandler struct {
	w     io.Writer
	least slog.Level
	attrs []slog.Attr
}

// Enabled leaves out what is below.
func (h wordsHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

// Handle writes a line: what happened, to whom, and why.
func (h wordsHandler) Handle(_ context.Context, r slog.Record) error {
	kind, line, why := "warning", r.Message, ""
	if r.Level >= slog.LevelError {
		kind = "error"
	}
	var about []string
	note := func(a slog.Attr) bool {
		if a.Key == "error" {
			why = ": " + a.Value.String()
		} else {
			about = append(about, a.Key+" "+a.Value.String())
		}
		return true
	}
	for _, a := range h.attrs {
		note(a)
	}
	r.Attrs(note)
	if len(about) > 0 {
		line += " (" + strings.Join(about, ", ") + ")"
	}
	_, err := fmt.Fprintf(h.w, "%-7s %s\n", kind, clean(line+why))
	return err
}

// WithAttrs adds to all lines.
func (h wordsHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	if slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "asset" }) {
		h.least = slog.LevelError
	}
	return h
}

// WithGroup changes nothing: people need no groups.
func (h wordsHandler) WithGroup(string) slog.Handler { return h }
