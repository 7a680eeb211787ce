// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
)

// OutliveReader lets this process live on when who reads its output is gone, as journald may be for a while: a write fails then
// instead of ending the process, and the rest goes on. Programs that this process starts have the signal at its default.
func OutliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// priorityHandler writes JSON lines with the priority in front, which journald takes off (sd-daemon(3)).
type priorityHandler struct {
	slog.Handler
	line *priorityLine
}

// priorityLine puts the priority of the record that is being written in front of it.
type priorityLine struct {
	mu       sync.Mutex // held while a record is written
	priority int
	out      io.Writer
	buf      []byte
}

func newPriorityHandler(w io.Writer) slog.Handler {
	line := &priorityLine{out: w}
	return priorityHandler{plain.LogHandler(line), line}
}

func (l *priorityLine) Write(p []byte) (int, error) {
	l.buf = append(fmt.Appendf(l.buf[:0], "<%d>", l.priority), p...)
	_, err := l.out.Write(l.buf)
	return len(p), err
}

// Handle writes one line.
func (h priorityHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.priority = plain.Priority(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs adds fields to all lines.
func (h priorityHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return priorityHandler{h.Handler.WithAttrs(attrs), h.line}
}

// WithGroup opens a group of fields.
func (h priorityHandler) WithGroup(name string) slog.Handler {
	return priorityHandler{h.Handler.WithGroup(name), h.line}
}

// journalStream is where journald takes streams of lines.
const journalStream = "/run/systemd/journal/stdout"

// dialJournal opens a stream of lines to journald, as systemd does for a service: identifier, unit, which journald finds out by
// itself, the priority of lines without one, that lines may have one, and three times no to handing them on.
func dialJournal() (*os.File, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: journalStream, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s\n\n%d\n1\n0\n0\n0\n", audit.Identifier, journal.PriInfo); err != nil {
		return nil, err
	}
	return conn.File()
}
