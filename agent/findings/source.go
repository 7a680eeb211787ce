// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxElement bounds one element of a list, one token of XML, in bytes: nuclei puts a whole response into an element, with up
// to six bytes for one.
const maxElement = 16 << 20

// errLimit is what a limit of this package stopped.
var errLimit = errors.New("is over the limit")

// source reads an output as UTF-8, from UTF-16 too where a byte order mark says so, and lets no value grow without bounds.
type source struct {
	*bufio.Reader
	bounded *bounded
	head    []byte // the output's beginning, for guess
}

func newSource(r io.Reader) *source {
	raw := bufio.NewReaderSize(r, 16<<10)
	mark, _ := raw.Peek(3) // a read error comes back with the next read
	var decoded io.Reader = raw
	switch {
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, _ = raw.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		decoded = transform.NewReader(raw, unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder())
	}
	b := &bounded{r: transform.NewReader(decoded, encoding.UTF8Validator), left: maxElement, line: 1}
	s := &source{Reader: bufio.NewReaderSize(b, 16<<10), bounded: b}
	s.head, _ = s.Peek(4 << 10)
	s.head = bytes.Clone(s.head)
	return s
}

// next lets the value that comes next be as large as any.
func (s *source) next() { s.bounded.left = maxElement }

var errEmpty = errors.New("it is empty")

// first returns the first byte that is not white space, without taking it, and errEmpty when there is none. A NUL is a byte
// as any: a file may be full of them after a loss of power.
func (s *source) first() (byte, error) {
	for {
		b, err := s.ReadByte()
		switch {
		case err == io.EOF:
			return 0, errEmpty
		case err != nil:
			return 0, s.explain(err)
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			s.next()
		default:
			return b, s.UnreadByte()
		}
	}
}

// explain says where a read failed.
func (s *source) explain(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it ends in the middle, in line %d at byte %d: it was cut off", s.bounded.line, s.bounded.read)
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return fmt.Errorf("it is not UTF-8, in line %d at byte %d", s.bounded.line, s.bounded.read)
	}
	return err
}

// bounded counts what is read and stops in a value that is too large.
type bounded struct {
	r    io.Reader
	left int   // bytes that the value being read may still take
	read int64 // bytes
	line int64 // the line of the last byte, from 1
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("one value in it %w of %d MiB, in line %d", errLimit, maxElement>>20, b.line)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.read += int64(n)
	b.line += int64(bytes.Count(p[:n], []byte("\n")))
	return n, err
}

// Open opens a file for reading. It never waits for somebody at the other end of a pipe, and what is opened is what is
// looked at: anything but a regular file is an error. The path is in none of its errors.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
