// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent/plain"
)

// NewLogger logs to the journal, with the ticket's fields as fields of the entry (PICKET_ASSET, PICKET_TASK, PICKET_TOKEN,
// PICKET_STEP …), when w is standard error and that is the journal; else JSON with the same names to w. It writes by way of q, if there is one.
func NewLogger(w io.Writer, q *Queue) *slog.Logger {
	if ok, err := journal.StderrIsJournalStream(); ok && err == nil {
		return slog.New(&journalHandler{send: journal.Send, fallback: plain.LogHandler(w), queue: q})
	}
	if q != nil {
		w = q.Writer(w)
	}
	return slog.New(plain.LogHandler(w))
}

// journalHandler makes journal entries of records.
type journalHandler struct {
	send     func(message string, priority journal.Priority, fields map[string]string) error
	fallback slog.Handler // for what the journal does not take
	queue    *Queue       // nil: entries are sent at once
	attrs    []slog.Attr
}

// Enabled is true for everything but what is for debugging.
func (h *journalHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle sends one entry.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	fields := map[string]string{"SYSLOG_IDENTIFIER": "picket-run"}
	message := r.Message
	note := func(a slog.Attr) bool {
		fields["PICKET_"+strings.ToUpper(a.Key)] = a.Value.String()
		return true
	}
	for _, a := range h.attrs {
		note(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		message += " " + a.Key + "=" + a.Value.String()
		return note(a)
	})
	send := func() error {
		if err := h.send(message, journal.Priority(plain.Priority(r.Level)), fields); err != nil {
			return h.fallback.WithAttrs(h.attrs).Handle(ctx, r)
		}
		return nil
	}
	if h.queue == nil {
		return send()
	}
	h.queue.Try(len(message)+len(fields)*32, func() { _ = send() })
	return nil
}

// WithAttrs adds fields to all entries.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{h.send, h.fallback, h.queue, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup changes nothing: a journal's fields have no groups.
func (h *journalHandler) WithGroup(string) slog.Handler { return h }
