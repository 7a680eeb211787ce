// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

var errNotRESP = errors.New("not RESP")

// readValue reads one whole RESP2 or RESP3 value as it stands on the wire. With an error it returns what it has read.
func readValue(in *bufio.Reader) ([]byte, error) { return appendValue(nil, in) }

// readChunk returns what there is, at least one byte.
func readChunk(in *bufio.Reader) ([]byte, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	chunk := make([]byte, in.Buffered())
	_, err := in.Read(chunk)
	return chunk, err
}

func appendValue(b []byte, in *bufio.Reader) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return b, err
	}
	kind := first[0]
	if !strings.ContainsRune("+-:_#,($!=*~>%|", rune(kind)) {
		chunk, _ := readChunk(in)
		return append(b, chunk...), errNotRESP
	}
	line, err := in.ReadBytes('\n')
	b = append(b, line...)
	if err != nil {
		return b, err
	}
	if len(line) < 3 {
		return b, errNotRESP
	}
	n, _ := strconv.Atoi(string(line[1 : len(line)-2])) // of the kinds that count something
	switch kind {
	case '$', '!', '=':
		if n < 0 {
			return b, nil
		}
		start := len(b)
		b = append(b, make([]byte, n+2)...)
		read, err := io.ReadFull(in, b[start:])
		return b[:start+read], err
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes stand before the value that they belong to
	case '*', '~', '>':
	default:
		return b, nil
	}
	for range n {
		if b, err = appendValue(b, in); err != nil {
			return b, err
		}
	}
	return b, nil
}
