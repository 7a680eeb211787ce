// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// answer is what a handler returns. It is written in one place.
type answer struct {
	status int
	body   any          // encoded as JSON, by itself if it is an appender
	text   string       // instead: plain text
	page   http.Handler // instead: writes all by itself

	stream func(io.Writer) error // instead: writes JSON bit by bit
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

// write sends an answer and returns its status.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a answer) int {
	switch {
	case a.page != nil:
		a.page.ServeHTTP(w, r)
	case a.text != "":
		s.send(w, a.status, "text/plain; charset=utf-8", []byte(a.text))
	case a.body == nil:
		w.WriteHeader(a.status)
	default:
		return s.writeJSON(w, a.status, "application/json", a.body)
	}
	return a.status
}

// streamTime is how long an answer may take that is sent bit by bit.
const streamTime = time.Minute

// stream sends an answer as it is made. An error before its first byte is the call's; begun says whether there was one.
func (s *Server) stream(w http.ResponseWriter, a answer) (begun bool, err error) {
	out := &begins{ResponseWriter: w, status: a.status, until: time.Now().Add(streamTime)}
	err = a.stream(out)
	return out.begun, err
}

// begins writes a header before the first byte.
type begins struct {
	http.ResponseWriter
	status int
	begun  bool
	until  time.Time
}

func (b *begins) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.Header().Set("Content-Type", "application/json")
		b.WriteHeader(b.status)
	}
	if time.Now().After(b.until) {
		return 0, os.ErrDeadlineExceeded
	}
	return b.ResponseWriter.Write(p)
}

// writeProblem sends an error answer and returns its status.
func (s *Server) writeProblem(w http.ResponseWriter, p *client.Problem) int {
	if after := retryAfter(p); after != "" {
		w.Header().Set("Retry-After", after)
	}
	if p.Code == client.BodyTooLarge || p.Code == client.Draining {
		w.Header().Set("Connection", "close")
	}
	s.metrics.refusals.WithLabelValues(string(p.Code)).Inc()
	return s.writeJSON(w, p.Status, "application/problem+json", p)
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, media string, body any) int {
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.encode(body); err != nil {
		s.log.Error("cannot encode an answer", "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	s.send(w, status, media, e.buf.Bytes())
	return status
}

// send writes an answer whose caller may be gone, which is no error of this side.
func (s *Server) send(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
