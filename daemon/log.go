// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// NewLogger logs to f: text when it is a terminal, JSON otherwise. It waits for nobody who does not read: lines are dropped then,
// and a later one says how many.
func NewLogger(f *os.File) *slog.Logger {
	handler := func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) }
	if term.IsTerminal(int(f.Fd())) {
		handler = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }
	}
	return slog.New(handler(&lossyWriter{file: f, own: slog.New(handler(f))}))
}

// logPatience is how long a first line waits for who reads the log. The next ones do not, until one can be written again.
const logPatience = 50 * time.Millisecond

// lossyWriter drops what cannot be written at once. Under systemd standard error leads to journald: when that is stopped, a plain
// write blocks as soon as the buffer between is full, and with it whoever logs, the renewal of locks included. Its user calls
// it from one goroutine at a time, as a slog.Handler does.
type lossyWriter struct {
	file *os.File
	own  *slog.Logger // to file
	lost int          // lines that were dropped
}

func (w *lossyWriter) Write(p []byte) (int, error) {
	if !w.takes() {
		w.lost++
		return len(p), nil
	}
	if n := w.lost; n > 0 {
		w.lost = 0
		w.own.Warn("lines of this log were dropped, because nobody read it", "lines", n)
	}
	return w.file.Write(p)
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
