// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/picketd/picket/agent/plain"
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
