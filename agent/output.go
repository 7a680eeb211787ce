// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/picketd/picket/agent/plain"
)

// Bounds of what a command writes.
const (
	maxReport = 1 << 30   // bytes of a scanner's report, which is parsed while it comes
	maxPlain  = 256 << 20 // bytes of a list of findings
	maxOwn    = 1 << 20   // bytes in Picket's own form
	maxLine   = 2 << 10   // bytes of a line that goes to the log
	maxLines  = 500       // lines of one run of a command that go to the log
)

var errTooLarge = errors.New("it is too large")

// limited reads up to a limit, and says so when there is more.
type limited struct {
	r     io.Reader
	left  int64
	limit int64
	ended atomic.Bool // there is nothing left to read
}

// Read reads; past the limit its error is an errTooLarge.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := io.ReadFull(l.r, make([]byte, 1)); n == 0 {
			l.ended.Store(err == io.EOF)
			return 0, err
		}
		return 0, fmt.Errorf("%w: more than %d MiB", errTooLarge, l.limit>>20)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if err == io.EOF {
		l.ended.Store(true)
	}
	return n, err
}

// logLines hands out the lines of a stream, cut and cleaned, and no more than maxLines of them. It returns the last one.
func logLines(r io.Reader, log func(string)) (last string) {
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
