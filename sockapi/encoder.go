// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"sync"
)

// encoder is a buffer with a JSON encoder on it. They are pooled, as encoding is what a read of a ticket costs.
type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

func (e *encoder) encode(body any) error {
	one, ok := body.(appender)
	if !ok {
		return e.json.Encode(body)
	}
	b, err := one.appendJSON(e.buf.AvailableBuffer())
	e.buf.Write(b)
	return err
}

// kept is the size, in bytes, up to which a buffer goes back into the pool.
const kept = 64 << 10

func (e *encoder) free() {
	if e.buf.Cap() <= kept {
		e.buf.Reset()
		encoders.Put(e)
	}
}

// appender is a body that encodes itself. Tickets do: they are in almost every answer, and encoding/json would take as long
// for one as the rest of a call does, for it checks facts anew that were checked when they came. What they make is byte for
// byte what encoding/json makes of the types in package client.
type appender interface {
	appendJSON(b []byte) ([]byte, error)
}
