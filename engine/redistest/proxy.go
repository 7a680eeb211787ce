// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// FaultProxy stands between clients and one server and puts faults in the way. It understands plain RESP; of TLS it only
// passes the bytes on, and loses no reply of it.
type FaultProxy struct {
	t      testing.TB
	target string
	addr   string
	wg     sync.WaitGroup // of all goroutines

	mu       sync.Mutex // guards what follows
	listener net.Listener
	kept     *os.File // the port while nobody listens there
	links    map[*link]struct{}
	delay    time.Duration
	frozen   chan struct{} // closes at Thaw; nil: not frozen
	loss     *loss         // nil: no reply is to be lost
}

// loss is an order to lose one reply.
type loss struct {
	match  []string
	done   chan struct{} // closes when the reply is lost
	marked bool          // a command was chosen and its reply is awaited
}

// Proxy listens on a loopback port for connections to the target, a host:port or the path of a Unix socket.
func Proxy(t testing.TB, target string) *FaultProxy {
	t.Helper()
	p := &FaultProxy{t: t, target: target, links: map[*link]struct{}{}}
	var err error
	for range 5 { // somebody may take the port first
		p.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
		if err = p.listen(); err == nil {
			break
		}
	}
	check(t, err, "cannot listen for the proxy")
	t.Cleanup(func() {
		p.Refuse()
		p.wg.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.givePortLocked()
	})
	return p
}

// Addr is the proxy's address on loopback, host:port. It stays the same.
func (p *FaultProxy) Addr() string { return p.addr }

// Cut closes all connections that are open now. New ones work.
func (p *FaultProxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

// Refuse closes all connections and refuses new ones until Restore.
func (p *FaultProxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
		p.keepPortLocked()
	}
	p.cutLocked()
}

// keepPortLocked binds the port without listening: connections to it are refused, and no other server takes it meanwhile.
func (p *FaultProxy) keepPortLocked() {
	addr, err := netip.ParseAddrPort(p.addr)
	if err != nil {
		return
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}); err != nil {
		_ = unix.Close(fd)
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) // or the next one that has it would share the port
	p.kept = os.NewFile(uintptr(fd), "kept port")
}

func (p *FaultProxy) givePortLocked() {
	if p.kept != nil {
		_ = p.kept.Close()
		p.kept = nil
	}
}

// Restore accepts connections again after Refuse.
func (p *FaultProxy) Restore() {
	p.t.Helper()
	p.mu.Lock()
	listening := p.listener != nil
	p.givePortLocked()
	p.mu.Unlock()
	if listening {
		return
	}
	check(p.t, p.listen(), "cannot restore the proxy")
}

// Freeze holds all bytes back in both directions, as a network does that drops packets. Connections stay, and new ones are
// accepted.
func (p *FaultProxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Thaw lets the bytes go on that Freeze held back.
func (p *FaultProxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Delay holds each command back for d before the server gets it; 0 ends that. Commands of one connection wait one after
// another.
func (p *FaultProxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// LoseNextReply lets the server execute the next command, then drops the reply and closes the connection. What counts is a
// command that contains each of the given strings, in any case (its name, a key, a script's argument); none means any.
// The handshake of a connection never counts, nor what the server answers with an error, such as NOSCRIPT. The channel
// closes when a reply was lost. A second call replaces an order that is not carried out yet.
func (p *FaultProxy) LoseNextReply(containing ...string) <-chan struct{} {
	l := &loss{done: make(chan struct{})}
	for _, s := range containing {
		l.match = append(l.match, strings.ToLower(s))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = l
	return l.done
}

func (p *FaultProxy) cutLocked() {
	for l := range p.links {
		l.close()
	}
}

func (p *FaultProxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener = listener
	p.wg.Go(func() { p.accept(listener) })
	return nil
}

func (p *FaultProxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		network := "tcp"
		if strings.HasPrefix(p.target, "/") {
			network = "unix"
		}
		server, err := net.Dial(network, p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{proxy: p, client: client, server: server, closed: make(chan struct{})}
		p.mu.Lock()
		if p.listener != listener { // refused in the meantime
			p.mu.Unlock()
			l.close()
			return
		}
		p.links[l] = struct{}{}
		p.wg.Go(l.commands)
		p.wg.Go(l.replies)
		p.mu.Unlock()
	}
}

// chooseLocked says whether this command's reply is the one to lose.
func (p *FaultProxy) chooseLocked(command []byte) *loss {
	if p.loss == nil || p.loss.marked {
		return nil
	}
	text := strings.ToLower(string(command))
	for _, s := range p.loss.match {
		if !strings.Contains(text, s) {
			return nil
		}
	}
	p.loss.marked = true
	return p.loss
}

// carryOutLocked says whether the reply is to be lost now; an error is not, and the order waits for another command.
func (p *FaultProxy) carryOutLocked(l *loss, reply []byte) bool {
	l.marked = false
	if p.loss != l || reply[0] == '-' {
		return false
	}
	p.loss = nil
	return true
}
