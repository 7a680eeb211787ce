// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// call is one request on its way through a handler.
type call struct {
	api     *Config         // what the server was made with
	serving context.Context // ends when the server drains
	request *http.Request
	control *http.ResponseController
	peer    engine.Peer
	conn    *conn // nil in tests without one
	free    bool  // its route is
	list    bool  // its route is
	unread  bool  // the body has not been read to its end
	params
	told audit.Event // what a handler knows of a write, for its record if it is refused
}

// bodyTime is how long a body may take to arrive, from the header's end on: whoever is called then, and whatever becomes of it.
// Reads have no other deadline, as a long poll reads nothing for minutes. unreadTime is what is left for a body once nobody wants it.
const (
	bodyTime   = 10 * time.Second
	unreadTime = time.Second
)

// awaitBody starts the body's time.
func (c *call) awaitBody(start time.Time) {
	if c.unread = c.request.Body != nil && c.request.Body != http.NoBody; c.unread {
		_ = c.control.SetReadDeadline(start.Add(bodyTime))
	}
}

// leaveBody ends the connection with the answer, if the body was not read: net/http would wait for the rest of it.
func (c *call) leaveBody(w http.ResponseWriter) {
	if c.unread {
		w.Header().Set("Connection", "close")
		_ = c.control.SetReadDeadline(time.Now().Add(unreadTime))
	}
}

// drained is how much of a body that is too large is read all the same, so that a plain client which writes before it reads
// gets to see the answer.
const drained = 8 << 20

// readBody reads the body, at most maxBody bytes of it.
func (c *call) readBody() ([]byte, error) {
	if !c.unread {
		return nil, nil
	}
	defer context.AfterFunc(c.serving, func() { _ = c.control.SetReadDeadline(time.Now().Add(unreadTime)) })()
	body, err := c.readUpTo(maxBody + 1)
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, c.request.Body, drained)
		return nil, problem(client.BodyTooLarge, "the body is larger than 1 MiB")
	}
	var refused *client.Problem
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case err != nil:
		return nil, problem(client.BadRequest, "the body did not arrive whole and in time")
	}
	c.unread = false
	return body, c.control.SetReadDeadline(time.Time{})
}

// smallBody is how much of a body is read without being counted, in bytes; from there on its room doubles as it arrives.
const smallBody = 4 << 10

// readUpTo reads the body until its end, or until there are limit bytes.
func (c *call) readUpTo(limit int64) ([]byte, error) {
	most := limit
	if n := c.request.ContentLength; n >= 0 {
		most = min(n+1, limit) // the byte more is where the end is found
	}
	buf := make([]byte, 0, min(smallBody, most))
	for int64(len(buf)) < limit {
		if len(buf) == cap(buf) {
			room := min(2*int64(cap(buf)), max(most, int64(cap(buf))+1))
			if err := c.countBody(room); err != nil {
				return nil, err
			}
			buf = append(make([]byte, 0, room), buf...)
		}
		n, err := c.request.Body.Read(buf[len(buf):cap(buf)])
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

// countBody has the call hold the bytes of its body's room, beside those of the room that it leaves.
func (c *call) countBody(room int64) error {
	if c.conn == nil {
		return nil
	}
	more := room - c.conn.read
	if err := c.conn.budgets.bodies.take(c.request.Context(), c.conn.who, more); err != nil {
		return err
	}
	c.conn.read += more
	return nil
}

// untilDrained is the context of a call that only waits: when the server drains it ends, with ErrDraining as its cause.
func (c *call) untilDrained() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(c.request.Context())
	forget := context.AfterFunc(c.serving, func() { cancel(engine.ErrDraining) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// by names an administrator in histories: pid/uid, as agents are.
func (c *call) by() string { return fmt.Sprintf("%d/%d", c.peer.PID, c.peer.UID) }

func (c *call) isAdmin() bool { return c.api.isAdmin(c.peer) }

// params are the values of a path's parameters.
type params struct {
	id      string // of a claim
	channel string // its name
	digest  string // of a list
	part    int    // its number
	host    string // the identity of its daemon
	ticket  store.TicketID
}
