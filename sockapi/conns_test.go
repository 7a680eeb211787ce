// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
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

// TestConnsAreBounded: past the limit a connection is answered that, and closed, and one that ends makes room for one.
func TestConnsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimits(2, 2)
	l.trusted = func(engine.Peer) bool { return false }
	socket, accepted, _ := accepting(t, l)
	dial(t, socket)
	first := <-accepted
	dial(t, socket)
	<-accepted
	refused(t, socket)
	must(t, first.Close())
	_ = first.Close() // makes no second place
	dial(t, socket)
	<-accepted
	refused(t, socket)
}

// refused makes a connection for which there must be no room.
func refused(t *testing.T, socket string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(dial(t, socket)), nil)
	must(t, err)
	defer resp.Body.Close()
	var p client.Problem
	must(t, json.NewDecoder(resp.Body).Decode(&p))
	if resp.StatusCode != http.StatusTooManyRequests || p.Code != client.TooManyCalls || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %+v", resp.StatusCode, p)
	}
}

// TestConnsOfOneUser: a user past its bound is refused, root and admins are not, whoever has however many, and what ends makes
// room. Nobody is kept from a few by what the others have.
func TestConnsOfOneUser(t *testing.T) {
	t.Parallel()
	const most = leastConns + 10
	l := newLimits(most, most)
	greedy, good, admin := party{account: 1000}, party{account: 1001}, party{account: 1001, trusted: true}
	enter := func(who party, n int) (got int) {
		for range n {
			if l.enter(who) {
				got++
			}
		}
		return got
	}
	for _, c := range []struct {
		who       party
		ask, want int
	}{{greedy, most + 1, most}, {good, most, leastConns}, {admin, most + 1, most}, {greedy, 1, 0}} {
		if got := enter(c.who, c.ask); got != c.want {
			t.Errorf("%+v got %d connections, want %d", c.who, got, c.want)
		}
	}
	l.leave(greedy)
	for who, n := range map[party]int{greedy: most - 1, good: leastConns, admin: most} {
		for range n {
			l.leave(who)
		}
	}
	if len(l.byWho) != 0 || l.users != 0 {
		t.Errorf("nobody is left, but %v are counted, %d of them users", l.byWho, l.users)
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

// TestArrivalsArePaced: one user's loop of connections is refused beyond a rate, another's connection is not, and the loop's user is
// let in again a moment later.
func TestArrivalsArePaced(t *testing.T) {
	t.Parallel()
	var a arrivals
	now := time.Now()
	for i := range 3 * arrivalsMost {
		if got, want := a.admit(1000, now), i < arrivalsMost; got != want {
			t.Fatalf("connection %d is admitted: %v", i, got)
		}
	}
	if !a.admit(1001, now) || !a.admit(1000, now.Add(arrivalSlice)) {
		t.Error("another user, or the same one later, is refused")
	}
}

// TestFloodOfConnectionsIsRefused, and whoever is refused is told to come again.
func TestFloodOfConnectionsIsRefused(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(10_000, 10_000))
	go func() {
		for c := range accepted {
			_ = c.Close()
		}
	}()
	for range 100 * arrivalsMost {
		c, err := net.Dial("unix", socket)
		if err != nil {
			continue // the kernel's queue is full
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		status, _ := bufio.NewReader(c).ReadString('\n')
		_ = c.Close()
		if strings.Contains(status, " 429 ") {
			return
		}
	}
	t.Error("10,000 connections in a row are all admitted")
}
