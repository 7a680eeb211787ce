// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
)

// NewLogger logs to f: text when it is a terminal, else JSON with the fields of the audit, and with priorities when it is standard error and that leads to
// journald. It waits for nobody who does not read: lines are dropped then, and a later one says how many.
func NewLogger(f *os.File) *slog.Logger {
	handler := plain.LogHandler
	if term.IsTerminal(int(f.Fd())) {
		handler = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }
	}
	w := &lossyWriter{file: f}
	if journaled, err := journal.StderrIsJournalStream(); f == os.Stderr && journaled && err == nil {
		handler = newPriorityHandler
		w.reopen = dialJournal
	}
	w.own = slog.New(handler(writerFunc(func(p []byte) (int, error) { return w.file.Write(p) })))
	return slog.New(handler(w))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// logPatience is how long a first line waits for who reads the log. The next ones do not, until one can be written again.
const logPatience = 50 * time.Millisecond

// errDropped is for whoever must know, as a channel of type log; a Logger does not ask.
var errDropped = errors.New("it was dropped, because nobody reads the log")

// lossyWriter drops what cannot be written at once, and says so. Under systemd standard error leads to journald: when that is stopped, a plain
// write blocks as soon as the buffer between is full, and with it whoever logs, the renewal of locks included. When journald was
// ended, the stream to it is broken for good, and another one is opened. Its user calls it from one goroutine at a time, as a
// slog.Handler does.
type lossyWriter struct {
	file   *os.File
	own    *slog.Logger             // to file
	reopen func() (*os.File, error) // opens another stream to the same reader; nil where there is no way
	broken bool                     // file is, for good
	lost   int                      // lines that were dropped
}

func (w *lossyWriter) Write(p []byte) (int, error) {
	for range 2 {
		if !w.takes() || !w.mended() {
			break
		}
		if n := w.lost; n > 0 {
			w.lost = 0
			w.own.Warn("lines of this log were dropped, because nobody read it", "lines", n)
		}
		n, err := w.file.Write(p)
		if w.reopen == nil || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return n, err
		}
		w.broken = true
	}
	w.lost++
	return 0, errDropped
}

// mended reports whether there is a stream that is not broken, and opens one if need be.
func (w *lossyWriter) mended() bool {
	if !w.broken {
		return true
	}
	file, err := w.reopen()
	if err != nil {
		return false
	}
	if w.file != os.Stderr { // which children inherit
		_ = w.file.Close()
	}
	w.file, w.broken = file, false
	return true
}

// takes asks the kernel whether the file takes a line without making its writer wait.
func (w *lossyWriter) takes() bool {
	patience := logPatience
	if w.lost > 0 {
		patience = 0
	}
	for {
		fds := []unix.PollFd{{Fd: int32(w.file.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(fds, int(patience.Milliseconds())); !errors.Is(err, unix.EINTR) {
			return err != nil || n > 0
		}
	}
}

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
