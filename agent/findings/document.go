// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// maxParts bounds the objects, lists and elements within one value, or the elements and attributes of one port of nmap's.
const maxParts = 400_000

// maxDepth bounds how deep what is skipped may be nested.
const maxDepth = 200

// document walks through one JSON document as it is read, so that its size does not matter. Names are matched exactly.
type document struct {
	src  *source
	dec  *json.Decoder
	null bool // null stood in the place of the last object or list
}

// newDocument refuses an output without anything in it.
func newDocument(src *source) (*document, error) {
	if _, err := src.first(); err != nil {
		return nil, err
	}
	d := &document{src: src, dec: json.NewDecoder(src)}
	d.dec.UseNumber()
	if b, err := src.Peek(4); err == nil && string(b) == "null" {
		return nil, errors.New("it is null")
	}
	return d, nil
}

// fields says what reads the value of each name in an object; others are skipped.
type fields map[string]func() error

// object reads an object, or null, which is one without fields.
func (d *document) object(known fields) error {
	if err := d.open('{'); err != nil || d.null {
		return err
	}
	for d.dec.More() {
		name, err := d.token()
		if err != nil {
			return err
		}
		read, ok := known[name.(string)]
		if !ok {
			read = d.skip
		}
		if err := read(); err != nil {
			return at("."+plain.Line(name.(string), 64), err)
		}
	}
	_, err := d.token()
	d.null = false // what stood inside may have been
	return err
}

// must turns null into an error.
func (d *document) must(read func() error) error {
	if err := read(); err != nil || !d.null {
		return err
	}
	return errors.New("is null, should be a list")
}

// array reads a list, or null, which is an empty one; each is called before every element and reads it.
func (d *document) array(each func() error) error {
	if err := d.open('['); err != nil || d.null {
		return err
	}
	for i := 0; d.dec.More(); i++ {
		if err := each(); err != nil {
			return at("["+strconv.Itoa(i)+"]", err)
		}
	}
	_, err := d.token()
	d.null = false
	return err
}

// list is an array whose elements are read as T.
func list[T any](d *document, each func(*T) error) func() error {
	return func() error {
		return d.array(func() error {
			var v *T
			if err := d.value(&v)(); err != nil {
				return err
			}
			if v == nil {
				return errors.New("is null, should be an object")
			}
			return each(v)
		})
	}
}

func (d *document) open(want json.Delim) error {
	token, err := d.token()
	if d.null = token == nil; err != nil || d.null {
		return err
	}
	if token != want {
		return fmt.Errorf("is %s, should be %s", kind(token), kind(want))
	}
	return nil
}

func (d *document) token() (json.Token, error) {
	d.src.next()
	token, err := d.dec.Token()
	return token, d.explain(err)
}

// value decodes what comes next into v.
func (d *document) value(v any) func() error {
	return func() error { return d.explain(d.decode(v)) }
}

// decode is value with the decoder's own error. It looks at how many parts there are before memory is taken for them: three
// bytes may stand for a struct of two hundred.
func (d *document) decode(v any) error {
	d.src.next()
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return err
	}
	parts, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			parts++
		}
	}
	if parts > maxParts {
		return fmt.Errorf("the number of its parts %w of %d", errLimit, maxParts)
	}
	return json.Unmarshal(raw, v)
}

func (d *document) skip() error {
	for depth := 0; ; {
		token, err := d.token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return fmt.Errorf("is nested more than %d deep, which %w", maxDepth, errLimit)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// end refuses anything behind the document.
func (d *document) end() error {
	d.src.next()
	_, err := d.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF:
		return nil
	case err == nil, errors.As(err, &syntax):
		return fmt.Errorf("something follows its end at byte %d", d.dec.InputOffset())
	}
	return d.src.explain(err)
}

func (d *document) explain(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.As(err, &kind):
		return at("."+kind.Field, fmt.Errorf("is %s, which does not belong there", article(kind.Value)))
	case err != nil:
		return d.src.explain(err)
	}
	return nil
}

func kind(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a bool"
	default:
		return "a number"
	}
}

func article(value string) string {
	if value == "object" || value == "array" {
		return "an " + value
	}
	return "a " + value
}

// placed is an error somewhere in a document.
type placed struct {
	path string
	err  error
}

func (p *placed) Error() string { return strings.TrimPrefix(p.path, ".") + ": " + p.err.Error() }
func (p *placed) Unwrap() error { return p.err }

// at says where in the document an error is, from the inside out.
func at(step string, err error) error {
	if p, ok := err.(*placed); ok {
		return &placed{step + p.path, p.err}
	}
	return &placed{step, err}
}
