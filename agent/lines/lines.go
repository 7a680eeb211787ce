// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

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

// Progress is a line at the end of a terminal's output that is written anew whenever something has changed. What is written
// through it stays above the line.
type Progress struct {
	w     io.Writer
	width func() int // of the terminal, in columns; 0 when nobody knows

	mu   sync.Mutex // guards what follows, and w
	line string     // as it stands on the terminal; empty when there is none
}

// NewProgress makes a line on a terminal of that width. A line that went on below could not be written anew.
func NewProgress(w io.Writer, width func() int) *Progress { return &Progress{w: w, width: width} }

// eraseLine goes to the line's beginning and empties it (ECMA-48: CR, EL).
const eraseLine = "\r\x1b[K"

// Write puts whole lines above the line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == "" {
		return p.w.Write(b)
	}
	if _, err := fmt.Fprintf(p.w, "%s%s%s", eraseLine, b, p.line); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Show writes the line anew; line makes it, in at most so many columns if that is more than none.
func (p *Progress) Show(line func(most int) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := line(p.width() - 1); now != p.line {
		p.line = now
		_, _ = io.WriteString(p.w, eraseLine+now)
	}
}

// Clear takes the line away.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		p.line = ""
		_, _ = io.WriteString(p.w, eraseLine)
	}
}
