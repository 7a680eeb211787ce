// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Log appends to a history. Several processes may have the same file open: each record is one write at its end.
type Log struct {
	file *os.File
	by   string
}

// Open opens the file, and makes it if it is not there.
func Open(path, by string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the history: %w", err)
	}
	return &Log{f, by}, nil
}

// Path is the file's.
func (l *Log) Path() string { return l.file.Name() }

// As is the same log for another writer.
func (l *Log) As(by string) *Log { return &Log{l.file, by} }

// Close closes the file, for all who write through it.
func (l *Log) Close() error { return l.file.Close() }

// Write appends a record. Its time is now, and its writer the log's, where they are not set. A history that cannot be written proves
// nothing: Write panics.
func (l *Log) Write(r Record) {
	r.At, r.By = cmp.Or(r.At, Now()), cmp.Or(r.By, l.by)
	line, err := json.Marshal(r)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("cannot write the history: %v", err))
	}
}

// Now is the time of CLOCK_BOOTTIME in nanoseconds.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// Read reads a history, and sorts it by time. A last line that was cut off, because its writer was killed, is left out.
func Read(r io.Reader) ([]Record, error) {
	var all []Record
	lines := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the history: %w", err)
		}
		var one Record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("line %d of the history: %w", n, err)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Record) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// ReadFile reads the history in a file.
func ReadFile(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}
