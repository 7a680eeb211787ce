// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handshake are the commands that a client sends of its own accord on a new connection.
var handshake = []string{"hello", "auth", "client", "select", "readonly", "cluster", "command", "ping"}

// link is one connection through a proxy.
type link struct {
	proxy          *FaultProxy
	client, server net.Conn
	closeOnce      sync.Once
	closed         chan struct{} // closes with the connections

	waiting []*loss // guarded by proxy.mu; one entry for each command whose reply is due, nil: pass it on
}

func (l *link) close() {
	l.closeOnce.Do(func() {
		close(l.closed)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// gone ends the link and forgets it.
func (l *link) gone() {
	l.close()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.links, l)
	for _, order := range l.waiting {
		if order != nil {
			order.marked = false // its reply never came: another command may lose its own
		}
	}
	l.waiting = nil
}

// commands carries the client's side.
func (l *link) commands() {
	l.carry(l.client, l.server, func(command []byte) bool {
		l.expect(command)
		return l.hold()
	})
}

// replies carries the server's side.
func (l *link) replies() {
	l.carry(l.server, l.client, func(reply []byte) bool {
		if order := l.due(reply); order != nil {
			l.close()
			close(order.done)
			return false
		}
		return true
	})
}

// carry copies value by value, each after judge agreed, or as the bytes come once they are not RESP.
func (l *link) carry(from, to net.Conn, judge func([]byte) bool) {
	defer l.gone()
	in, read := bufio.NewReader(from), readValue
	for {
		b, err := read(in)
		if len(b) > 0 {
			if err == nil && !judge(b) || !l.pass() {
				return
			}
			if _, err := to.Write(b); err != nil {
				return
			}
		}
		switch {
		case errors.Is(err, errNotRESP):
			read, judge = readChunk, func([]byte) bool { return l.hold() }
		case err != nil:
			return
		}
	}
}

// hold waits for the proxy's delay, and says whether the link is still there.
func (l *link) hold() bool {
	l.proxy.mu.Lock()
	delay := l.proxy.delay
	l.proxy.mu.Unlock()
	if delay == 0 {
		return true
	}
	select {
	case <-time.After(delay):
		return true
	case <-l.closed:
		return false
	}
}

// pass waits while the proxy is frozen, and says whether the link is still there.
func (l *link) pass() bool {
	for {
		l.proxy.mu.Lock()
		frozen := l.proxy.frozen
		l.proxy.mu.Unlock()
		if frozen == nil {
			return true
		}
		select {
		case <-frozen:
		case <-l.closed:
			return false
		}
	}
}

// expect notes whose reply comes next, and whether it is the one to lose.
func (l *link) expect(command []byte) {
	name := commandName(command)
	if strings.Contains(name, "subscribe") { // answered by a push, which is no reply
		return
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if _, linked := l.proxy.links[l]; !linked {
		return
	}
	var order *loss
	if !slices.Contains(handshake, name) {
		order = l.proxy.chooseLocked(command)
	}
	l.waiting = append(l.waiting, order)
}

// due returns the order that loses this reply, or nil.
func (l *link) due(reply []byte) *loss {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if reply[0] == '>' || len(l.waiting) == 0 {
		return nil
	}
	order := l.waiting[0]
	l.waiting = l.waiting[1:]
	if order == nil || !l.proxy.carryOutLocked(order, reply) {
		return nil
	}
	return order
}

// commandName is the first word of a command, in lower case.
func commandName(command []byte) string {
	parts := bytes.SplitN(command, []byte("\r\n"), 4) // *N, $LEN, NAME
	if len(parts) < 4 {
		return ""
	}
	return strings.ToLower(string(parts[2]))
}

var errNotRESP = errors.New("not RESP")

// readValue reads one whole RESP2 or RESP3 value as it stands on the wire. With an error it returns what it has read.
func readValue(in *bufio.Reader) ([]byte, error) { return appendValue(nil, in) }

// readChunk returns what there is, at least one byte.
func readChunk(in *bufio.Reader) ([]byte, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	chunk := make([]byte, in.Buffered())
	_, err := in.Read(chunk)
	return chunk, err
}

func appendValue(b []byte, in *bufio.Reader) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return b, err
	}
	kind := first[0]
	if !strings.ContainsRune("+-:_#,($!=*~>%|", rune(kind)) {
		chunk, _ := readChunk(in)
		return append(b, chunk...), errNotRESP
	}
	line, err := in.ReadBytes('\n')
	b = append(b, line...)
	if err != nil {
		return b, err
	}
	if len(line) < 3 {
		return b, errNotRESP
	}
	n, _ := strconv.Atoi(string(line[1 : len(line)-2])) // of the kinds that count something
	switch kind {
	case '$', '!', '=':
		if n < 0 {
			return b, nil
		}
		start := len(b)
		b = append(b, make([]byte, n+2)...)
		read, err := io.ReadFull(in, b[start:])
		return b[:start+read], err
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes stand before the value that they belong to
	case '*', '~', '>':
	default:
		return b, nil
	}
	for range n {
		if b, err = appendValue(b, in); err != nil {
			return b, err
		}
	}
	return b, nil
}
