// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/picketd/picket/sockapi/client"
)

const (
	maxBody   = 1 << 20   // bytes
	maxFacts  = 512 << 10 // bytes
	maxLevels = 64        // of facts; the object itself is the first
	maxDigits = 1000      // of a number, with its sign, point and exponent; Python's json reads no integer of more than 4,300
)

// member is a field of the body's object, with the bytes of its value.
type member struct {
	name  string
	value []byte
}

// members checks a body as bytes and takes its object apart one level deep.
//
// What is not JSON at all, as RFC 8259 has it in UTF-8, is BAD_REQUEST; what is JSON but cannot be meant is INVALID.
func members(body []byte) ([]member, error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, problem(client.BadRequest, "the body is empty; it must be one JSON object")
	case !utf8.Valid(body):
		return nil, problem(client.BadRequest, "the body is not valid UTF-8")
	case !json.Valid(body):
		return nil, problem(client.BadRequest, "the body is not one JSON value: "+syntax(body))
	}
	s := scanner{body: body, names: make(map[name]struct{})}
	s.space()
	if s.body[s.pos] != '{' {
		return nil, invalid("body", "must be a JSON object")
	}
	var found []member
	err := s.object(1, func(name string) error {
		s.field = name
		s.space()
		start := s.pos
		if err := s.value(2); err != nil {
			return err
		}
		found = append(found, member{name, body[start:s.pos]})
		return nil
	})
	return found, err
}

// syntax says where a body stops to be JSON. The decoder's own words repeat a character of it.
func syntax(body []byte) string {
	var raw json.RawMessage
	var wrong *json.SyntaxError
	if errors.As(json.Unmarshal(body, &raw), &wrong) {
		return fmt.Sprintf("see byte %d", wrong.Offset)
	}
	return "it cannot be parsed"
}

// name is a name within one object, objects being numbered as they come.
type name struct {
	object int
	name   string
}

// scanner walks over valid JSON and looks for what decoders let pass.
type scanner struct {
	body    []byte
	pos     int
	field   string // the field of the outermost object that is being walked over
	objects int
	names   map[name]struct{}
}

// value walks over one value; level is that of the objects and arrays that begin in it.
func (s *scanner) value(level int) error {
	s.space()
	c := s.body[s.pos]
	if (c == '{' || c == '[') && level > maxLevels+1 {
		return invalid(location("body", s.field), fmt.Sprintf("is nested deeper than %d levels", maxLevels))
	}
	switch c {
	case '{':
		return s.object(level, func(string) error { return s.value(level + 1) })
	case '[':
		return s.array(level)
	case '"':
		_, err := s.text()
		return err
	}
	start := s.pos
	for s.pos < len(s.body) && bytes.IndexByte([]byte(",]} \t\r\n"), s.body[s.pos]) < 0 {
		s.pos++
	}
	if s.pos-start > maxDigits {
		return invalid(location("body", s.field), fmt.Sprintf("has a number of more than %d characters; write it as a string", maxDigits))
	}
	return nil
}

func (s *scanner) object(level int, value func(name string) error) error {
	s.objects++
	id := s.objects
	for s.next('}') {
		quoted, err := s.text()
		if err != nil {
			return err
		}
		text, err := unquote(quoted)
		if err != nil {
			return err
		}
		key := name{id, text}
		if _, twice := s.names[key]; twice {
			if level == 1 {
				return invalid(location("body", text), "is given twice")
			}
			return invalid(location("body", s.field), "has an object in which a name stands twice")
		}
		s.names[key] = struct{}{}
		s.space()
		s.pos++ // the colon
		if err := value(text); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) array(level int) error {
	for s.next(']') {
		if err := s.value(level + 1); err != nil {
			return err
		}
	}
	return nil
}

// next steps over an opening bracket or a comma to the next element, or over the closing bracket, and says which.
func (s *scanner) next(closing byte) bool {
	s.space()
	if s.body[s.pos] != closing {
		s.pos++
		s.space()
		if s.body[s.pos] != closing {
			return true
		}
	}
	s.pos++
	return false
}

// text walks over a string and returns it as it stands, with its quotes.
func (s *scanner) text() ([]byte, error) {
	start := s.pos
	for s.pos++; s.body[s.pos] != '"'; s.pos++ {
		if s.body[s.pos] != '\\' {
			continue
		}
		s.pos++
		if s.body[s.pos] != 'u' {
			continue
		}
		if err := s.surrogates(); err != nil {
			return nil, err
		}
	}
	s.pos++
	return s.body[start:s.pos], nil
}

// unquote returns what a string says.
func unquote(text []byte) (string, error) {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1]), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}

// surrogates steps from the u of an escape to its last digit, or to that of the second half of a pair.
func (s *scanner) surrogates() error {
	first := s.hex(s.pos + 1)
	s.pos += 4
	if first < 0xd800 || first > 0xdfff {
		return nil
	}
	if first < 0xdc00 && bytes.HasPrefix(s.body[s.pos+1:], []byte(`\u`)) {
		if second := s.hex(s.pos + 3); second >= 0xdc00 && second <= 0xdfff {
			s.pos += 6
			return nil
		}
	}
	return problem(client.BadRequest, "the body has half a surrogate pair, which is no character")
}

// hex reads the four digits of an escape.
func (s *scanner) hex(at int) (n int) {
	for _, c := range s.body[at : at+4] {
		switch {
		case c <= '9':
			n = n<<4 | int(c-'0')
		default:
			n = n<<4 | int(c|0x20-'a'+10)
		}
	}
	return n
}

func (s *scanner) space() {
	for s.pos < len(s.body) && bytes.IndexByte([]byte(" \t\r\n"), s.body[s.pos]) >= 0 {
		s.pos++
	}
}
