// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// NewLogger logs to f: text when it is a terminal, else JSON with the fields of the audit, and with priorities when it is standard error and that leads to
// journald. It waits for nobody who does not read: lines are dropped then, and a later one says how many.
func NewLogger(f *os.File) *slog.Logger {
	handler := newFieldHandler
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

// newFieldHandler writes JSON lines with the names that journald and the audit have, so that whoever reads both needs to know one
// form. They have no PICKET_EVENT, by which records of the audit are known.
func newFieldHandler(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.MessageKey:
			a.Key = "MESSAGE"
		case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
			return slog.String("PICKET_TIME", a.Value.Time().UTC().Format(auditTime))
		case a.Key == slog.LevelKey:
			level, _ := a.Value.Any().(slog.Level)
			return slog.String("PRIORITY", strconv.Itoa(int(priorityOf(level))))
		default:
			a.Key = "PICKET_" + strings.ToUpper(a.Key)
		}
		return a
	}}
	return slog.NewJSONHandler(w, options)
}

// priorityOf is a level as journald counts.
func priorityOf(level slog.Level) journal.Priority {
	switch {
	case level >= slog.LevelError:
		return journal.PriErr
	case level >= slog.LevelWarn:
		return journal.PriWarning
	}
	return journal.PriInfo
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// logPatience is how long a first line waits for who reads the log. The next ones do not, until one can be written again.
const logPatience = 50 * time.Millisecond

// lossyWriter drops what cannot be written at once. Under systemd standard error leads to journald: when that is stopped, a plain
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
	return len(p), nil
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
