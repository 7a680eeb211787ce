// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/picketd/picket/agent/plain"
)

const (
	maxLine  = 2 << 10 // bytes of a line that goes to the log
	maxLines = 500     // lines of one run of a command that go to the log
)

// ErrTooLarge says that there is more output than is read.
var ErrTooLarge = errors.New("it is too large")

// Limited reads up to a limit, and says so when there is more.
type Limited struct {
	r     io.Reader
	left  int64
	limit int64
	ended atomic.Bool // there is nothing left to read
}

// Limit bounds what is read of r, in bytes.
func Limit(r io.Reader, limit int64) *Limited { return &Limited{r: r, left: limit, limit: limit} }

// Ended reports whether all was read, and there was no more.
func (l *Limited) Ended() bool { return l.ended.Load() }

// Read reads; past the limit its error is an ErrTooLarge.
func (l *Limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := io.ReadFull(l.r, make([]byte, 1)); n == 0 {
			l.ended.Store(err == io.EOF)
			return 0, err
		}
		return 0, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, l.limit>>20)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if err == io.EOF {
		l.ended.Store(true)
	}
	return n, err
}

// LogLines hands out the lines of a stream, cut and cleaned, and no more than maxLines of them. It returns the last one.
func LogLines(r io.Reader, log func(string)) (last string) {
	lines := bufio.NewReaderSize(r, maxLine)
	for n, cut := 0, false; ; {
		part, err := lines.ReadSlice('\n')
		if line := strings.ReplaceAll(plain.Text(string(part)), "\t", " "); line != "" && !cut {
			last = line
			if n++; n <= maxLines {
				log(line)
			} else if n == maxLines+1 {
				log(fmt.Sprintf("more than %d lines: the others are left out", maxLines))
			}
		}
		cut = errors.Is(err, bufio.ErrBufferFull) // the rest of this line is left out
		if err != nil && !cut {
			return last
		}
	}
}
