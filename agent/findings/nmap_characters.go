// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// characters gives out XML in which what XML forbids is U+FFFD: nmap writes what a service answers as references to characters
// (&#x1b;), of which XML 1.0 has no control characters, and nobody who runs a service may spoil the whole report. It counts
// what takes memory in the parser, too.
type characters struct {
	*source
	queue []byte // of replacements
	parts int    // tags and attributes since the last token that was asked for
}

// ReadByte is what encoding/xml reads by.
func (c *characters) ReadByte() (byte, error) {
	if len(c.queue) > 0 {
		b := c.queue[0]
		c.queue = c.queue[1:]
		return b, nil
	}
	b, err := c.source.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case b == '<' || b == '"' || b == '\'':
		if c.parts++; c.parts > maxParts {
			return 0, fmt.Errorf("the number of its elements and attributes %w of %d", errLimit, maxParts)
		}
	case b == '&':
		const longest = 16 // bytes of a reference with zeros in it
		ahead, _ := c.Peek(longest)
		if end := bytes.IndexByte(ahead, ';'); end > 1 && ahead[0] == '#' && !allowed(string(ahead[1:end])) {
			_, _ = c.Discard(end + 1)
			return c.replace(), nil
		}
	case b < ' ' && b != '\t' && b != '\n' && b != '\r':
		return c.replace(), nil
	case b == 0xef:
		if ahead, _ := c.Peek(2); string(ahead) == "\xbf\xbe" || string(ahead) == "\xbf\xbf" {
			_, _ = c.Discard(2)
			return c.replace(), nil
		}
	}
	return b, nil
}

func (c *characters) replace() byte {
	c.queue = []byte(string(utf8.RuneError))
	b := c.queue[0]
	c.queue = c.queue[1:]
	return b
}

// allowed says whether XML 1.0 has the character that a reference names (its section 2.2). What is no number is left to the
// parser, which refuses it.
func allowed(reference string) bool {
	base := 10
	if hex, ok := strings.CutPrefix(reference, "x"); ok {
		reference, base = hex, 16
	}
	n, err := strconv.ParseUint(reference, base, 64)
	return err != nil || n == '\t' || n == '\n' || n == '\r' ||
		n >= ' ' && n <= 0xd7ff || n >= 0xe000 && n <= 0xfffd || n >= 0x10000 && n <= 0x10ffff
}
