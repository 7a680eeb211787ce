// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/picketd/picket/engine/store"
)

// ticketBody is an answer with a ticket, and with the fields of another struct beside it.
type ticketBody struct {
	ticket store.Ticket
	beside any
}

func (t *ticketBody) appendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"ticket":`...)
	b = appendTicket(b, &t.ticket, true)
	if t.beside == nil {
		return append(b, "}\n"...), nil
	}
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.json.Encode(t.beside); err != nil {
		return nil, err
	}
	b = append(b, ',')
	return append(b, e.buf.Bytes()[1:]...), nil
}

// ticketList is a page of tickets, without facts.
type ticketList struct{ store.TicketPage }

func (l *ticketList) appendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"tickets":[`...)
	for i := range l.Tickets {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTicket(b, &l.Tickets[i], false)
	}
	b = append(b, `],"cursor":`...)
	if l.Cursor == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, l.Cursor)
	}
	if l.Incomplete {
		b = append(b, `,"incomplete":true`...)
	}
	return append(b, "}\n"...), nil
}

// appendTicket writes a client.Ticket. Facts that were not given are an empty object.
func appendTicket(b []byte, t *store.Ticket, facts bool) []byte {
	b = appendString(append(b, `{"id":`...), t.ID.String())
	b = appendString(append(b, `,"asset":`...), string(t.ID.Asset))
	b = appendString(append(b, `,"task":`...), t.ID.Task)
	b = appendString(append(b, `,"flow":`...), t.Flow)
	b = appendString(append(b, `,"state":`...), string(t.State))
	b = strconv.AppendInt(append(b, `,"token":`...), t.Token, 10)
	b = strconv.AppendInt(append(b, `,"run":`...), t.Run, 10)
	b = strconv.AppendInt(append(b, `,"revision":`...), t.Revision, 10)
	b = appendMap(append(b, `,"steps":`...), t.Steps, func(b []byte, s store.Step) []byte { return appendStep(b, &s, facts) })
	b = appendFailure(append(b, `,"failure":`...), t.Failure)
	b = appendNotification(append(b, `,"notification":`...), t.Notification, facts)
	b = appendMap(append(b, `,"delivery":`...), t.Delivery, appendDelivery)
	b = appendHolder(append(b, `,"holder":`...), t.Holder)
	b = appendString(append(b, `,"summary":`...), t.Summary)
	b = appendBool(append(b, `,"high_risk":`...), t.HighRisk)
	b = appendTime(append(b, `,"created_at":`...), t.CreatedAt)
	b = appendTime(append(b, `,"updated_at":`...), t.UpdatedAt)
	if t.Damaged != "" {
		b = appendString(append(b, `,"damaged":`...), t.Damaged)
	}
	return append(b, '}')
}

func appendStep(b []byte, s *store.Step, facts bool) []byte {
	b = appendString(append(b, `{"state":`...), string(s.State))
	b = appendFacts(b, s.Facts, facts)
	b = appendString(append(b, `,"summary":`...), s.Summary)
	b = strconv.AppendInt(append(b, `,"token":`...), s.Token, 10)
	b = appendString(append(b, `,"host":`...), s.Host)
	b = appendTime(append(b, `,"at":`...), s.At)
	return append(b, '}')
}

func appendFailure(b []byte, f *store.Failure) []byte {
	if f == nil {
		return append(b, "null"...)
	}
	b = appendString(append(b, `{"step":`...), f.Step)
	b = appendString(append(b, `,"error":`...), f.Error)
	b = strconv.AppendInt(append(b, `,"count":`...), f.Count, 10)
	b = strconv.AppendBool(append(b, `,"final":`...), f.Final)
	b = appendTime(append(b, `,"at":`...), f.At)
	return append(b, '}')
}

func appendNotification(b []byte, n *store.Notification, facts bool) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	b = appendString(append(b, `{"title":`...), n.Title)
	b = appendString(append(b, `,"text":`...), n.Text)
	b = appendString(append(b, `,"severity":`...), n.Severity)
	b = appendFacts(b, n.Facts, facts)
	b = append(b, `,"channels":[`...)
	for i, channel := range n.Channels {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, channel)
	}
	b = appendTime(append(b, `],"at":`...), n.At)
	return append(b, '}')
}

func appendDelivery(b []byte, d store.Delivery) []byte {
	b = appendString(append(b, `{"status":`...), string(d.Status))
	b = strconv.AppendInt(append(b, `,"attempts":`...), d.Attempts, 10)
	b = append(b, `,"at":`...)
	if d.At.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendTime(b, d.At)
	}
	b = appendString(append(b, `,"host":`...), d.Host)
	b = appendString(append(b, `,"error":`...), d.Error)
	return append(b, '}')
}

func appendHolder(b []byte, h *store.Holder) []byte {
	if h == nil {
		return append(b, "null"...)
	}
	b = appendString(append(b, `{"host":`...), h.Host)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(h.PID), 10)
	b = strconv.AppendUint(append(b, `,"uid":`...), uint64(h.UID), 10)
	b = appendString(append(b, `,"task":`...), h.Task)
	b = appendTime(append(b, `,"since":`...), h.Since)
	b = strconv.AppendInt(append(b, `,"remaining_ms":`...), h.Remaining.Milliseconds(), 10)
	for i, name := range strings.Fields(h.Next) {
		b = appendString(append(b, []string{`,"next":[`, `,`}[min(i, 1)]...), name)
	}
	if h.Next != "" {
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendFacts writes the field facts, or nothing. They were checked and compacted when they came.
func appendFacts(b []byte, facts json.RawMessage, wanted bool) []byte {
	if !wanted {
		return b
	}
	b = append(b, `,"facts":`...)
	if len(facts) == 0 {
		return append(b, "{}"...)
	}
	return append(b, facts...)
}

// appendMap writes an object, its names in order.
func appendMap[V any](b []byte, m map[string]V, value func([]byte, V) []byte) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = value(append(appendString(b, name), ':'), m[name])
	}
	return append(b, '}')
}

func appendBool(b []byte, v *bool) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return strconv.AppendBool(b, *v)
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendString writes a string. Those that need an escape are left to encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	e := encoders.Get().(*encoder)
	defer e.free()
	_ = e.json.Encode(s) // a string can always be encoded
	return append(b, bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))...)
}

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
