// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// party is whose limits a call counts against. What root and admins use leaves the others' share as it is, and the other way round.
type party struct {
	account uint32 // engine.Peer.Account
	trusted bool   // root or an admin
}

// patience is how long a call waits for its share before it is refused.
const patience = 5 * time.Second

var errTooManyCalls = problem(client.TooManyCalls, "this user's calls are more at once than one user may have; make fewer, or try again later")

// budget bounds what calls hold at once: turns, or bytes. Who asks for more waits, first come first served within a party. One that
// holds nothing is always given what it asks for, and up to least it waits for nobody else.
type budget struct {
	all, each, least int64
	closed           <-chan struct{} // when the server drains nobody waits any more; nil: never

	mu     sync.Mutex
	used   int64            // by those who are not trusted
	shares map[party]*share // of those who hold or wait
}

type share struct {
	used  int64
	queue []*waiter
}

type waiter struct {
	n     int64
	given chan struct{} // closes when it has its share
}

func newBudget(all, each, least int64) *budget {
	return &budget{all: all, each: each, least: least, shares: map[party]*share{}}
}

// take waits for n, at most patience: then it returns errTooManyCalls. Who got it calls give.
func (b *budget) take(ctx context.Context, p party, n int64) error {
	b.mu.Lock()
	s := b.shares[p]
	if s == nil {
		s = &share{}
		b.shares[p] = s
	}
	if len(s.queue) == 0 && b.fitsLocked(p, s, n) {
		b.addLocked(p, s, n)
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	s.queue = append(s.queue, w)
	b.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	select {
	case <-w.given:
		return nil
	case <-timer.C:
		err = errTooManyCalls
	case <-b.closed:
		err = engine.ErrDraining
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, context.DeadlineExceeded) {
			err = errTooManyCalls
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(s.queue, w)
	if i < 0 { // given in the same moment
		return nil
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	b.shareOutLocked()
	return err
}

func (b *budget) give(p party, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(p, b.shares[p], -n)
	b.shareOutLocked()
}

func (b *budget) addLocked(p party, s *share, n int64) {
	s.used += n
	if !p.trusted {
		b.used += n
	}
}

func (b *budget) fitsLocked(p party, s *share, n int64) bool {
	switch sum := s.used + n; {
	case s.used == 0:
		return true
	case p.trusted:
		return sum <= b.all
	default:
		return sum <= b.each && (b.used+n <= b.all || sum <= b.least)
	}
}

// shareOutLocked gives those who wait what there is now, and forgets parties that hold and want nothing.
func (b *budget) shareOutLocked() {
	for p, s := range b.shares {
		for len(s.queue) > 0 && b.fitsLocked(p, s, s.queue[0].n) {
			b.addLocked(p, s, s.queue[0].n)
			close(s.queue[0].given)
			s.queue = s.queue[1:]
		}
		if s.used == 0 && len(s.queue) == 0 {
			delete(b.shares, p)
		}
	}
}

// pacer bounds how many calls a second a user makes: those that come faster are held up.
type pacer struct {
	perSecond int
	closed    <-chan struct{} // as of a budget

	mu   sync.Mutex
	next map[party]time.Time // when the next call of each would be in time
}

// delay is how long a call has to be held up; past patience it is not counted. A second's worth may come at once.
func (p *pacer) delay(who party, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next[who]
	if at.Before(now.Add(-time.Second)) {
		at = now.Add(-time.Second)
	}
	d := at.Sub(now)
	if d <= patience {
		p.next[who] = at.Add(time.Second / time.Duration(p.perSecond))
	}
	return d
}

// wait holds a call up. Root and admins are not.
func (p *pacer) wait(ctx context.Context, who party) error {
	if who.trusted {
		return nil
	}
	d := p.delay(who, time.Now())
	if d <= 0 {
		return nil
	}
	if d > patience {
		return errTooManyCalls
	}
	select {
	case <-time.After(d):
		return nil
	case <-p.closed:
		return engine.ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// budgets bound what the calls of a server hold at once.
type budgets struct {
	turns   *budget // calls that are at work
	bodies  *budget // bytes
	answers *budget // bytes
	pace    *pacer
}

func newBudgets(closed <-chan struct{}) *budgets {
	b := &budgets{
		turns:   newBudget(256, 64, 8),
		bodies:  newBudget(32<<20, 8<<20, 1<<20),
		answers: newBudget(48<<20, 12<<20, 4<<20),
		pace:    &pacer{perSecond: 2000, closed: closed, next: map[party]time.Time{}},
	}
	b.turns.closed, b.bodies.closed, b.answers.closed = closed, closed, closed
	return b
}
