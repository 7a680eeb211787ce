// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
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

// writer sends answers.
type writer struct {
	log     *slog.Logger
	metrics *metrics
}

// write sends an answer and returns its status.
func (o writer) write(w http.ResponseWriter, r *http.Request, a answer) int {
	switch {
	case a.page != nil:
		a.page.ServeHTTP(w, r)
	case a.text != "":
		sendBytes(w, a.status, "text/plain; charset=utf-8", []byte(a.text))
	case a.body == nil:
		w.WriteHeader(a.status)
	default:
		return o.writeJSON(w, a.status, "application/json", a.body)
	}
	return a.status
}

// streamTime is how long an answer may take that is sent bit by bit.
const streamTime = time.Minute

// stream sends an answer as it is made. An error before its first byte is the call's; begun says whether there was one.
func stream(w http.ResponseWriter, a answer) (begun bool, err error) {
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

// problem sends an error answer and returns its status.
func (o writer) problem(w http.ResponseWriter, p *client.Problem) int {
	if after := retryAfter(p); after != "" {
		w.Header().Set("Retry-After", after)
	}
	if p.Code == client.BodyTooLarge || p.Code == client.Draining {
		w.Header().Set("Connection", "close")
	}
	o.metrics.refusals.WithLabelValues(string(p.Code)).Inc()
	return o.writeJSON(w, p.Status, "application/problem+json", p)
}

func (o writer) writeJSON(w http.ResponseWriter, status int, media string, body any) int {
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.encode(body); err != nil {
		o.log.Error("cannot encode an answer", "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	sendBytes(w, status, media, e.buf.Bytes())
	return status
}

// sendBytes writes an answer whose caller may be gone, which is no error of this side.
func sendBytes(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
