// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// listener accepts connections within limits and knows who is at their other end.
type listener struct {
	net.Listener
	limits  *limits
	budgets *budgets
	log     *slog.Logger
	refused refusedConns
	paced   arrivals

	once sync.Once
}

func newListener(ln net.Listener, l *limits, log *slog.Logger) *listener {
	return &listener{Listener: ln, limits: l, log: log, refused: refusedConns{said: again.Reminder{Every: refusalsEvery}}}
}

// Accept returns the next connection. One whose peer is not known, not wanted, or has too many, is closed and skipped: a bad peer
// never ends Accept, and nobody waits in the kernel's queue behind one.
func (l *listener) Accept() (net.Conn, error) {
	for {
		l.limits.open.Add(1)
		raw, err := l.Listener.Accept()
		if err != nil {
			l.limits.open.Add(-1)
			return nil, err
		}
		c, err := l.admit(raw)
		if err == nil {
			return c, nil
		}
		l.refused.tell(l.log, err)
		_ = raw.Close()
		l.limits.open.Add(-1)
	}
}

var (
	errTooManyConns = errors.New("the user has too many connections")
	errTooFast      = errors.New("the user connects too often")
)

// arrivals bounds how often a user connects, before anything that costs more is asked about the peer: who connects in a loop takes
// little of Accept's time, so the others do not wait in the kernel's queue. Its user is Accept alone.
type arrivals struct {
	since time.Time
	byUID map[uint32]int
}

// arrivalSlice is the time in which a user may make arrivalsMost connections: 1,000 a second.
const (
	arrivalSlice = 100 * time.Millisecond
	arrivalsMost = 100
)

func (a *arrivals) admit(uid uint32, now time.Time) bool {
	if a.byUID == nil || now.Sub(a.since) >= arrivalSlice {
		a.since, a.byUID = now, map[uint32]int{}
	}
	a.byUID[uid]++
	return a.byUID[uid] <= arrivalsMost
}

// noSlot answers a connection for which there is no slot, whatever it asks.
var noSlot = func() []byte {
	const body = `{"title":"Too Many Requests","status":429,"detail":"this user has too many connections; close some, or try again later","code":"` + string(client.TooManyCalls) + `"}`
	return fmt.Appendf(nil, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

func (l *listener) admit(raw net.Conn) (*conn, error) {
	unix, ok := raw.(*net.UnixConn)
	if !ok {
		return nil, errors.New("the listener is not a Unix socket")
	}
	cred, err := credOf(unix)
	if err != nil {
		return nil, err
	}
	if !l.paced.admit(cred.Uid, time.Now()) {
		return nil, l.refuse(raw, errTooFast)
	}
	peer, err := peerOf(unix, cred)
	if err != nil {
		return nil, err
	}
	who := party{peer.Account(), l.limits.trusted(peer)}
	if !l.limits.enter(who) {
		closeProcess(peer)
		return nil, l.refuse(raw, errTooManyConns)
	}
	return &conn{UnixConn: unix, peer: peer, who: who, limits: l.limits, budgets: l.budgets}, nil
}

// refuse answers a connection that is not wanted, and returns why.
func (l *listener) refuse(raw net.Conn, why error) error {
	_ = raw.SetWriteDeadline(time.Now().Add(time.Second)) // its buffer is empty: it takes that at once
	_, _ = raw.Write(noSlot)
	return why
}

// Close stops Accept. It is idempotent.
func (l *listener) Close() (err error) {
	l.once.Do(func() { err = l.Listener.Close() })
	return err
}

// refusedConns has one line in the log for many connections that were refused. Its user is Accept alone.
type refusedConns struct {
	count int
	said  again.Reminder
}

const refusalsEvery = 10 * time.Second

func (r *refusedConns) tell(log *slog.Logger, err error) {
	r.count++
	if r.said.Due("connections were refused", "") {
		log.Warn("connections were refused", "count", r.count, "last", err)
		r.count = 0
	}
}

// leastConns is how many connections a user may have whatever the others have.
const leastConns = 64

// limits bounds the connections of all listeners of a server.
type limits struct {
	all, perUser int
	trusted      func(engine.Peer) bool // root and admins, who have as many slots of their own

	open atomic.Int64 // connections: all, with those that are about to be accepted

	mu    sync.Mutex // guards what follows
	users int        // of those who are not trusted
	byWho map[party]int
}

func newLimits(all, perUser int) *limits {
	return &limits{
		all: all, perUser: perUser, byWho: make(map[party]int),
		trusted: func(p engine.Peer) bool { return p.UID == 0 && !p.Foreign },
	}
}

// enter gives a party a slot, if it may have another.
func (l *limits) enter(who party) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.byWho[who]
	switch {
	case who.trusted:
		if n >= l.all {
			return false
		}
	case n >= l.perUser || l.users >= l.all && n >= leastConns:
		return false
	default:
		l.users++
	}
	l.byWho[who]++
	return true
}

func (l *limits) leave(who party) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !who.trusted {
		l.users--
	}
	if l.byWho[who]--; l.byWho[who] == 0 {
		delete(l.byWho, who)
	}
}
