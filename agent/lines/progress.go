// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"fmt"
	"io"
	"sync"
)

// Progress is a line at the end of a terminal's output that is written anew whenever something has changed. What is written
// through it stays above the line.
type Progress struct {
	w     io.Writer
	width func() int // of the terminal, in columns; 0 when nobody knows

	mu   sync.Mutex // guards what follows, and w
	line string     // as it stands on the terminal; empty when there is none
}

// NewProgress makes a line on a terminal of that width. A line that went on below could not be written anew.
func NewProgress(w io.Writer, width func() int) *Progress { return &Progress{w: w, width: width} }

// eraseLine goes to the line's beginning and empties it (ECMA-48: CR, EL).
const eraseLine = "\r\x1b[K"

// Write puts whole lines above the line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == "" {
		return p.w.Write(b)
	}
	if _, err := fmt.Fprintf(p.w, "%s%s%s", eraseLine, b, p.line); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Show writes the line anew; line makes it, in at most so many columns if that is more than none.
func (p *Progress) Show(line func(most int) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := line(p.width() - 1); now != p.line {
		p.line = now
		_, _ = io.WriteString(p.w, eraseLine+now)
	}
}

// Clear takes the line away.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		p.line = ""
		_, _ = io.WriteString(p.w, eraseLine)
	}
}
