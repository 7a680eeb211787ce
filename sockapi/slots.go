// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"sync"

	"github.com/picketd/picket/engine"
)

// leastConns is how many connections a user may have whatever the others have.
const leastConns = 64

// limits bounds the connections of all listeners of a server.
type limits struct {
	all, perUser int
	trusted      func(engine.Peer) bool // root and admins, who have as many slots of their own

	mu    sync.Mutex
	open  int // all, with those that are about to be accepted
	users int // of those who are not trusted
	byWho map[party]int
}

func newLimits(all, perUser int) *limits {
	return &limits{
		all: all, perUser: perUser, byWho: make(map[party]int),
		trusted: func(p engine.Peer) bool { return p.UID == 0 && !p.Foreign },
	}
}

// arrive counts a connection before it is accepted, depart when it is closed or there is none.
func (l *limits) arrive() { l.count(1) }

func (l *limits) depart() { l.count(-1) }

func (l *limits) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

// empty reports whether no connection is open or about to be accepted.
func (l *limits) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open == 0
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
