// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"log/slog"
	"net"
	"sync"

	"github.com/picketd/picket/engine"
)

// peerKey is the key of the connection's engine.Peer in the context of its requests.
type peerKey struct{}

// limits bounds the connections of all listeners of a server.
type limits struct {
	slots  chan struct{} // one for each connection that is open or about to be accepted
	perUID int

	mu    sync.Mutex
	byUID map[uint32]int // guarded by mu
}

func newLimits(all, perUID int) *limits {
	return &limits{slots: make(chan struct{}, all), perUID: perUID, byUID: make(map[uint32]int)}
}

// enter counts a connection of a user, if there may be another. Root is not counted, so that it gets in always.
func (l *limits) enter(uid uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid != 0 && l.byUID[uid] >= l.perUID {
		return false
	}
	l.byUID[uid]++
	return true
}

func (l *limits) leave(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byUID[uid]--; l.byUID[uid] == 0 {
		delete(l.byUID, uid)
	}
}

// listener accepts connections within limits and knows who is at their other end.
type listener struct {
	net.Listener
	limits *limits
	log    *slog.Logger

	closed chan struct{}
	once   sync.Once
}

func newListener(ln net.Listener, l *limits, log *slog.Logger) *listener {
	return &listener{Listener: ln, limits: l, log: log, closed: make(chan struct{})}
}

// Accept returns the next connection. One whose peer is not known, not wanted, or has too many, is closed and skipped: a bad
// peer never ends Accept.
func (l *listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.limits.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
		raw, err := l.Listener.Accept()
		if err != nil {
			<-l.limits.slots
			return nil, err
		}
		c, err := l.admit(raw)
		if err == nil {
			return c, nil
		}
		l.log.Warn("a connection was refused", "error", err)
		_ = raw.Close()
		<-l.limits.slots
	}
}

var errTooMany = errors.New("the user has too many connections")

func (l *listener) admit(raw net.Conn) (*conn, error) {
	unix, ok := raw.(*net.UnixConn)
	if !ok {
		return nil, errors.New("the listener is not a Unix socket")
	}
	peer, err := peerOf(unix)
	if err != nil {
		return nil, err
	}
	if !l.limits.enter(peer.UID) {
		closeProcess(peer)
		return nil, errTooMany
	}
	return &conn{UnixConn: unix, peer: peer, limits: l.limits}, nil
}

// Close stops Accept, also while it waits for a slot. It is idempotent.
func (l *listener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// conn is a connection with its peer. The Unix connection's own methods, CloseWrite among them, stay reachable: net/http
// needs them to end a connection without losing the last answer.
type conn struct {
	*net.UnixConn
	peer   engine.Peer
	limits *limits
	once   sync.Once
}

// Close closes the connection, lets go of the peer's process, and makes room for another connection.
func (c *conn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(func() {
		closeProcess(c.peer)
		c.limits.leave(c.peer.UID)
		<-c.limits.slots
	})
	return err
}

func closeProcess(p engine.Peer) {
	if p.Process != nil {
		p.Process.Close()
	}
}
