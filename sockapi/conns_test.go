// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// accepting is a listener with limits, and what it accepted.
func accepting(t *testing.T, l *limits) (socket string, accepted <-chan net.Conn, ln *listener) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	raw, err := net.Listen("unix", socket)
	must(t, err)
	ln = newListener(raw, l, quiet())
	conns := make(chan net.Conn, 16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := ln.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept ended with %v", err)
				}
				return
			}
			conns <- c
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-ended
	})
	return socket, conns, ln
}

func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConnsAreBounded: past the limit a connection waits until another ends, and waiting does not outlive the listener.
func TestConnsAreBounded(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(2, 2))
	dial(t, socket)
	first := <-accepted
	dial(t, socket)
	<-accepted
	dial(t, socket)
	select {
	case <-accepted:
		t.Fatal("a third connection was accepted")
	case <-time.After(30 * time.Millisecond):
	}
	must(t, first.Close())
	_ = first.Close() // makes no second place
	<-accepted
	dial(t, socket)
	select {
	case <-accepted:
		t.Fatal("closing one connection twice made two places")
	case <-time.After(30 * time.Millisecond):
	}
}

// TestConnsOfOneUser: a user past its bound is refused, root is not, and what ends makes place.
func TestConnsOfOneUser(t *testing.T) {
	t.Parallel()
	l := newLimits(10, 1)
	if !l.enter(1000) || l.enter(1000) || !l.enter(1001) || !l.enter(0) || !l.enter(0) {
		t.Error("the bound is not one connection for each user but root")
	}
	l.leave(1000)
	if !l.enter(1000) {
		t.Error("what ended makes no place")
	}
	for _, uid := range []uint32{1000, 1001, 0, 0} {
		l.leave(uid)
	}
	if len(l.byUID) != 0 {
		t.Errorf("nobody is left, but %v are counted", l.byUID)
	}
}

// TestAcceptSkipsBadPeers: a connection that is refused ends neither Accept nor the place that it took.
func TestAcceptSkipsBadPeers(t *testing.T) {
	t.Parallel()
	l := newLimits(1, 1)
	client, server := net.Pipe()
	defer client.Close()
	good := filepath.Join(t.TempDir(), "s")
	raw, err := net.Listen("unix", good)
	must(t, err)
	defer raw.Close()
	dial(t, good)
	ln := newListener(&scripted{raw, []net.Conn{server}}, l, quiet())
	c, err := ln.Accept()
	must(t, err)
	must(t, c.Close())
	if _, err := client.Write([]byte("x")); err == nil {
		t.Error("the bad connection is open")
	}
}

// scripted is a listener that accepts some connections of a test's first.
type scripted struct {
	net.Listener
	first []net.Conn
}

func (s *scripted) Accept() (net.Conn, error) {
	if len(s.first) > 0 {
		c := s.first[0]
		s.first = s.first[1:]
		return c, nil
	}
	return s.Listener.Accept()
}
