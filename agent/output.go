// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/picketd/picket/agent/plain"
)

const (
	maxReport  = 1 << 30   // bytes of a scanner's report, which is parsed while it comes
	maxPlain   = 256 << 20 // bytes of a list of findings
	maxOwn     = 1 << 20   // bytes in Picket's own form
	maxFacts   = 512 << 10 // bytes, the API's limit
	maxLine    = 2 << 10   // bytes of a line that goes to the log
	maxLines   = 500       // lines of one run of a command that go to the log
	maxSummary = 4 << 10   // bytes, the API's limit on summaries and errors
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

// result is what a step has come to, as it is recorded, and the form in which a command says it.
type result struct {
	State   string          `json:"state"`
	Facts   json.RawMessage `json:"facts"`
	Summary string          `json:"summary"`
}

// readOwn reads Picket's own form: one object, and nothing behind it.
func readOwn(r io.Reader) (result, error) {
	const form = `{"state": …, "facts": {…}, "summary": …}`
	doc, err := io.ReadAll(&limited{r: r, left: maxOwn, limit: maxOwn})
	if err != nil {
		return result{}, err
	}
	if len(bytes.TrimSpace(doc)) == 0 {
		return result{}, fmt.Errorf("it is empty: %s is needed", form)
	}
	var out result
	var m members
	err = resultForm.check(doc)
	if err == nil && json.Unmarshal(doc, &m) != nil {
		err = errors.New("it is no object")
	}
	out.Facts = m["facts"]
	if err == nil {
		err = cmp.Or(m.member("state", &out.State, "text"), m.member("summary", &out.Summary, "text"))
	}
	switch {
	case errors.Is(err, errBehind):
		return result{}, err
	case err != nil:
		return result{}, fmt.Errorf("it is not %s (%s); for a scanner's own report set parse", form, plain.Line(err.Error(), 0))
	case out.State == "":
		return result{}, fmt.Errorf("it has no state: %s is needed", form)
	}
	if len(out.Facts) > maxFacts {
		return result{}, fmt.Errorf("%w: its facts have more than %d KiB", errTooLarge, maxFacts>>10)
	}
	if f := bytes.TrimSpace(out.Facts); len(f) > 0 && f[0] != '{' && string(f) != "null" {
		return result{}, errors.New("its facts are not an object")
	} else if string(f) == "null" {
		out.Facts = nil
	}
	out.Summary = plain.Line(out.Summary, maxSummary)
	return out, nil
}
