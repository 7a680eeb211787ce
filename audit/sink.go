// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// sink brings a record to where it is kept. It may block.
type sink interface {
	send(*Record) error
	flush() error // is called when no record is waiting
}

func newSink(w io.Writer) sink {
	switch {
	case w != nil:
		return &lineSink{out: w}
	case journal.Enabled():
		return journalSink{journal.Send}
	}
	return &lineSink{out: stderr}
}

// stderr is standard error with a lock of its own, so that a reader who does not read holds up the audit alone.
var stderr = os.NewFile(2, "/dev/stderr")

// A journal that is not there for a moment, because it is being restarted, is tried again so often.
const (
	journalTries = 5
	journalPause = 200 * time.Millisecond
)

// journalSink sends records to the journal, each at once. While the journal is stopped, send blocks.
type journalSink struct {
	to func(message string, p journal.Priority, fields map[string]string) error
}

func (s journalSink) send(r *Record) (err error) {
	fields := map[string]string{}
	r.fields(func(name, value string) { fields[name] = value })
	delete(fields, "MESSAGE")
	delete(fields, "PRIORITY")
	for try := range journalTries {
		if try > 0 {
			time.Sleep(journalPause)
		}
		if err = s.to(r.Message, r.Priority, fields); err == nil {
			return nil
		}
	}
	return err
}

func (journalSink) flush() error { return nil }

// Once tells the journal, if there is one, of an event that is the only one of its run. It takes 3 s at most.
func Once(e Event) {
	if !journal.Enabled() {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		r := newRecord(e, rand.Text(), 1, nil)
		r.speak()
		_ = journalSink{journal.Send}.send(r)
	}()
	select {
	case <-told:
	case <-time.After(stopLimit):
	}
}

// lineMost is how many bytes of lines are gathered at most while more records wait: what a pipe takes in one piece, so that
// lines of others do not end up within ours (PIPE_BUF, pipe(7)).
const lineMost = 4096

// lineSink writes records as JSON lines, with the same fields as in the journal.
type lineSink struct {
	out  io.Writer
	buf  []byte // lines that are not written yet
	line []byte // is used again
}

func (s *lineSink) send(r *Record) error {
	s.line = s.line[:0]
	r.fields(func(name, value string) {
		s.line = append(append(append(s.line, `,"`...), name...), `":`...)
		s.line = appendText(s.line, value)
	})
	s.line[0] = '{'
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
