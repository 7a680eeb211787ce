// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAsset    = 256     // bytes, the API's limit
	maxAssets   = 1 << 20 // of a list
	maxListLine = 4 << 10 // bytes that are read of a line
)

// BadLine is a line of a list that cannot be an asset.
type BadLine struct {
	Line   int
	Reason string
}

// ReadList reads assets, one a line. Empty lines and those that begin with # are passed over; spaces around an asset, a
// carriage return and a byte order mark are no part of it; an asset that stands there twice counts once. What cannot be an
// asset is told with its line and does not stop the others.
func ReadList(r io.Reader) (assets []string, bad []BadLine, err error) {
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
		switch reason := checkAsset(asset); {
		case strings.HasPrefix(asset, "#"), asset == "" && !long:
		case long:
			bad = append(bad, BadLine{n, fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)})
		case reason != "":
			bad = append(bad, BadLine{n, reason})
		case seen[asset]:
		case len(assets) == maxAssets:
			return nil, nil, fmt.Errorf("cannot read the list: it has more than %d assets: split it", maxAssets)
		default:
			seen[asset] = true
			assets = append(assets, asset)
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

// checkAsset says why a line cannot be an asset, by the daemon's rules, or nothing.
func checkAsset(s string) string {
	switch {
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
