// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// call is one request on its way through a handler.
type call struct {
	request *http.Request
	control *http.ResponseController
	peer    engine.Peer
	params
	told engine.AuditEvent // what a handler knows of a write, for its record if it is refused
}

// bodyTime is how long a body may take to arrive. Reads have no other deadline, as a long poll reads nothing for minutes.
const bodyTime = 10 * time.Second

// drained is how much of a body that is too large is read all the same, so that a plain client which writes before it reads
// gets to see the answer.
const drained = 8 << 20

// readBody reads the body, at most maxBody bytes of it, within bodyTime.
func (c *call) readBody() ([]byte, error) {
	if c.request.Body == nil || c.request.Body == http.NoBody {
		return nil, nil
	}
	if err := c.control.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
		return nil, err
	}
	size := c.request.ContentLength
	if size < 0 || size > maxBody {
		size = maxBody
	}
	body := make([]byte, 0, size+1)
	body, err := readUpTo(c.request.Body, body, maxBody+1)
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, c.request.Body, drained)
		return nil, problem(client.BodyTooLarge, "the body is larger than 1 MiB")
	}
	if err != nil {
		return nil, problem(client.BadRequest, "the body did not arrive whole and in time")
	}
	return body, c.control.SetReadDeadline(time.Time{})
}

// readUpTo appends to buf what r has, until its end or until buf holds limit bytes.
func readUpTo(r io.Reader, buf []byte, limit int) ([]byte, error) {
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), limit)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
	return buf, nil
}
