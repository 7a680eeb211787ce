// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/picketd/picket/engine"
)

// peerKey and connKey are the keys of the connection's engine.Peer and of its *conn in the context of its requests.
type (
	peerKey struct{}
	connKey struct{}
)

// conn is a connection with its peer. The Unix connection's own methods, CloseWrite among them, stay reachable: net/http needs them
// to end a connection without losing the last answer.
type conn struct {
	*net.UnixConn
	peer    engine.Peer
	who     party
	limits  *limits
	budgets *budgets
	once    sync.Once

	// What the call under way holds. One call at a time is under way on a connection, in one goroutine.
	turn          bool
	read, weighed int64 // bytes of its body, and of its answer

	mu      sync.Mutex // guards what follows
	hurried bool       // the server drains: a request must come, and an answer go, within slowGrace
	reading bool       // a request is being read: there is a deadline for it
}

// slowGrace is for the rest of a request to arrive, and for an answer to be read, while the server drains.
const slowGrace = 250 * time.Millisecond

// writeTime is how long a peer may take to read what is written to it at once.
const writeTime = 10 * time.Second

// Write has a deadline, so that nobody who does not read keeps an answer in memory.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.setWriteDeadline(); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(b)
}

func (c *conn) setWriteDeadline() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := writeTime
	if c.hurried {
		limit = slowGrace
	}
	return c.SetWriteDeadline(time.Now().Add(limit))
}

// SetReadDeadline has a request that is read while the server drains come soon. Without a deadline nothing is read but the end of
// the connection, which may take its time.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading = !t.IsZero(); c.reading && c.hurried {
		if soon := time.Now().Add(slowGrace); soon.Before(t) {
			t = soon
		}
	}
	return c.UnixConn.SetReadDeadline(t)
}

// hurry is for a server that drains: whoever has sent half a request, or does not read its answer, does not hold it up.
func (c *conn) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hurried = true
	soon := time.Now().Add(slowGrace)
	if c.reading {
		_ = c.UnixConn.SetReadDeadline(soon)
	}
	_ = c.SetWriteDeadline(soon)
}

// begin waits for the call's turn.
func (c *conn) begin(ctx context.Context) error {
	if err := c.budgets.pace.wait(ctx, c.who); err != nil {
		return err
	}
	return c.takeTurn(ctx)
}

func (c *conn) takeTurn(ctx context.Context) error {
	err := c.budgets.turns.take(ctx, c.who, 1)
	c.turn = err == nil
	return err
}

func (c *conn) giveTurn() {
	if c.turn {
		c.budgets.turns.give(c.who, 1)
		c.turn = false
	}
}

// Rest gives back the turn of the call that a context is of, for as long as the call only waits; again takes one anew. It is for
// engine.Config.
func Rest(ctx context.Context) (again func() error) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok || !c.turn {
		return func() error { return nil }
	}
	c.giveTurn()
	return func() error { return c.takeTurn(ctx) }
}

// Weigh has the call that a context is of hold n bytes more until its answer is written; it waits when the user's calls, or all,
// hold too many. It is for engine.Config.
func Weigh(ctx context.Context, n int64) error {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return nil
	}
	if err := c.budgets.answers.take(ctx, c.who, n); err != nil {
		return err
	}
	c.weighed += n
	return nil
}

// listWeight is what calls hold whose answer's size is known only when it is made: lists, and what the daemon says of itself.
const listWeight = 3 << 20

// dropBody gives back what the call's body held.
func (c *conn) dropBody() {
	if c.read > 0 {
		c.budgets.bodies.give(c.who, c.read)
		c.read = 0
	}
}

// end gives back what the call still holds.
func (c *conn) end() {
	c.giveTurn()
	c.dropBody()
	if c.weighed > 0 {
		c.budgets.answers.give(c.who, c.weighed)
		c.weighed = 0
	}
}

// Close closes the connection, lets go of the peer's process, and makes room for another connection.
func (c *conn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(func() {
		closeProcess(c.peer)
		c.limits.leave(c.who)
		c.limits.open.Add(-1)
	})
	return err
}

func closeProcess(p engine.Peer) {
	if p.Process != nil {
		p.Process.Close()
	}
}
