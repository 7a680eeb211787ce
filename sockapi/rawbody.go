// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

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

// membersOf checks a body as bytes and takes its object apart one level deep.
//
// What is not JSON at all, as RFC 8259 has it in UTF-8, is BAD_REQUEST; what is JSON but cannot be meant is INVALID.
func membersOf(body []byte) ([]member, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, problem(client.BadRequest, "the body is empty; it must be one JSON object")
	}
	found, err := readObject(body)
	if err == nil {
		return found, nil
	}
	if broken := syntax(body); broken != nil {
		return nil, broken
	}
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok { // of valid JSON: a name stands twice
		if at := wrong.JSONPointer; at.Parent() == "" {
			return nil, invalid(location("body", at.LastToken()), "is given twice")
		}
		for outermost := range wrong.JSONPointer.Tokens() {
			return nil, invalid(location("body", outermost), "has an object in which a name stands twice")
		}
	}
	return nil, err
}

// readObject reads the members of a body that is one object, and looks at each token of their values.
func readObject(body []byte) (found []member, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if d.PeekKind() != jsontext.KindBeginObject {
		return nil, invalid("body", "must be a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == jsontext.KindString {
		quoted, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name, start := quoted.String(), d.InputOffset()
		if err := readValue(d, name); err != nil {
			return nil, err
		}
		found = append(found, member{name, bytes.TrimLeft(body[start:d.InputOffset()], ": \t\r\n")})
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, errors.New("something follows the object"))
	}
	return found, nil
}

// readValue reads the value of the member name of the outermost object.
func readValue(d *jsontext.Decoder, name string) error {
	for {
		token, err := d.ReadToken()
		switch {
		case err != nil:
			return err
		case d.StackDepth() > maxLevels+1:
			return invalid(location("body", name), fmt.Sprintf("is nested deeper than %d levels", maxLevels))
		case token.Kind() == jsontext.KindNumber && len(token.String()) > maxDigits:
			return invalid(location("body", name), fmt.Sprintf("has a number of more than %d characters; write it as a string", maxDigits))
		case d.StackDepth() == 1:
			return nil
		}
	}
}

// syntax says where a body stops to be JSON, or nil. The decoder's own words repeat a character of it.
func syntax(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	err := d.SkipValue()
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	at := d.InputOffset()
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = wrong.ByteOffset
	}
	return problem(client.BadRequest, fmt.Sprintf("the body is not one JSON value in UTF-8, without half surrogate pairs: see byte %d", at+1))
}
