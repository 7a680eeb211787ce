// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// newAuditSink keeps the audit where it is asked to, as JSON lines; asked for nothing, in the journal, or where there is none, as
// JSON lines on standard error.
func newAuditSink(w io.Writer) auditSink {
	switch {
	case w != nil:
		return &lineSink{out: w}
	case journal.Enabled():
		return journalSink{journal.Send}
	}
	return &lineSink{out: auditStderr}
}

// auditStderr is standard error with a lock of its own, so that a reader who does not read holds up the audit alone.
var auditStderr = os.NewFile(2, "/dev/stderr")

// A journal that is not there for a moment, because it is being restarted, is tried again so often.
const (
	journalTries = 5
	journalPause = 200 * time.Millisecond
)

// journalSink sends records to the journal, each at once. While the journal is stopped, send blocks.
type journalSink struct {
	to func(message string, p journal.Priority, fields map[string]string) error
}

func (s journalSink) send(r *auditRecord) (err error) {
	message, priority, fields := r.message(), r.priority(), map[string]string{}
	r.fields(func(name, value string) { fields[name] = value })
	for try := range journalTries {
		if try > 0 {
			time.Sleep(journalPause)
		}
		if err = s.to(message, priority, fields); err == nil {
			return nil
		}
	}
	return err
}

func (journalSink) flush() error { return nil }

// lineMost is how many bytes of lines are gathered at most while more records wait: what a pipe takes in one piece, so that
// lines of others do not end up within ours (PIPE_BUF, pipe(7)).
const lineMost = 4096

// lineSink writes records as JSON lines, with the same fields as in the journal.
type lineSink struct {
	out  io.Writer
	buf  []byte // lines that are not written yet
	line []byte // is used again
}

func (s *lineSink) send(r *auditRecord) error {
	s.line = appendText(append(s.line[:0], `{"MESSAGE":`...), r.message())
	s.line = strconv.AppendInt(append(s.line, `,"PRIORITY":"`...), int64(r.priority()), 10)
	s.line = append(s.line, '"')
	r.fields(func(name, value string) {
		s.line = append(append(append(s.line, `,"`...), name...), `":`...)
		s.line = appendText(s.line, value)
	})
	s.line = append(s.line, "}\n"...)
	if len(s.buf)+len(s.line) > lineMost {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, s.line...)
	return nil
}

// appendText appends a string as JSON. Almost all are plain, and need no look at each of their characters by encoding/json.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string cannot fail
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// flush writes what was gathered. What could not be written is kept for the next time.
func (s *lineSink) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	n, err := s.out.Write(s.buf)
	s.buf = append(s.buf[:0], s.buf[n:]...)
	return err
}
