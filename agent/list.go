// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAsset    = 256     // bytes, the API's limit
	maxAssets   = 1 << 20 // of a list
	maxListLine = 4 << 10 // bytes that are read of a line
)

// Asset is what is to be worked on.
type Asset struct {
	Name string
	Line int // of a list; 0 when it stands in none
}

// BadLine is a line of a list that cannot be an asset.
type BadLine struct {
	Line   int
	Text   string // what stands there, as far as it can be shown
	Reason string
}

// Result is what became of it.
func (b BadLine) Result(task string) Result {
	return Result{Asset: b.Text, Task: task, Outcome: Failed, Error: fmt.Sprintf("line %d %s", b.Line, b.Reason), Line: b.Line}
}

// ReadList reads assets, one a line. Empty lines and those that begin with # are passed over; spaces around an asset, a
// carriage return and a byte order mark are no part of it; an asset that stands there twice counts once. What cannot be an
// asset is told with its line and does not stop the others.
func ReadList(r io.Reader) (assets []Asset, bad []BadLine, err error) {
	lines := bufio.NewReaderSize(r, maxListLine)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		line, long, err := readLine(lines)
		if err == io.EOF {
			return assets, bad, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the list: %w", err)
		}
		if n == 1 {
			if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
				return nil, nil, errors.New("cannot read the list: it is UTF-16, and must be UTF-8")
			}
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		asset := strings.TrimFunc(string(line), func(r rune) bool { return unicode.IsSpace(r) })
		shown := cutText(printable(asset), maxAsset)
		switch reason := CheckAsset(asset); {
		case strings.HasPrefix(asset, "#"), asset == "" && !long:
		case long:
			bad = append(bad, BadLine{n, shown, fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)})
		case reason != "":
			bad = append(bad, BadLine{n, shown, reason})
		case seen[asset]:
		case len(assets) == maxAssets:
			return nil, nil, fmt.Errorf("cannot read the list: it has more than %d assets: split it", maxAssets)
		default:
			seen[asset] = true
			assets = append(assets, Asset{asset, n})
		}
	}
}

// readLine returns a line without its end; of one that is too long, the beginning. Its error is io.EOF behind the last line.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	part, err := r.ReadSlice('\n')
	line = bytes.Clone(part)
	for err == bufio.ErrBufferFull {
		long = true
		_, err = r.ReadSlice('\n')
	}
	if err == io.EOF && (len(line) > 0 || long) {
		err = nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), long, err
}

// CheckAsset says why something cannot be an asset, by those of the daemon's rules that can be told from its letters, or nothing.
func CheckAsset(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxAsset:
		return fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "has a control character"
	case s == "." || s == "..":
		return "is . or .., which no asset can be"
	}
	return ""
}

var taskForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// CheckTask says why something cannot be a task, by the daemon's rules, or nothing.
func CheckTask(s string) string {
	if !taskForm.MatchString(s) || s == "." || s == ".." {
		return "must have 1 to 128 of A-Z a-z 0-9 . _ - and not be . or .."
	}
	return ""
}
