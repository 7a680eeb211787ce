// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/notifier/channel"
)

// gate is a configured channel, and what an attempt on it must pass.
type gate struct {
	*channel.Channel
	breaker breaker
	rates   rates
	line    line // before the rates
}

func newGate(ch *channel.Channel) *gate {
	g := &gate{Channel: ch}
	for _, r := range ch.Rates {
		g.rates = append(g.rates, &rate{Rate: r})
	}
	return g
}

// admit asks whether the channel may be used now; if not, wait is positive, and inLine tells that w's turn comes then. What is not
// used after all is given back with withdraw.
func (g *gate) admit(now time.Time, w waiting) (wait time.Duration, inLine bool) {
	if wait = g.breaker.admit(now); wait > 0 {
		return wait, false
	}
	if wait, inLine = g.line.admit(now, g.rates, w); wait > 0 {
		g.breaker.withdraw()
	}
	return wait, inLine
}

func (g *gate) withdraw() {
	g.breaker.withdraw()
	g.rates.withdraw()
}

// A breaker opens after breakAfter failures in a row; from then on one attempt every probeEvery goes out, until one is
// answered. An outage so costs a few attempts of a few intents, not all attempts of all.
const (
	breakAfter = 5
	probeEvery = 10 * time.Second
)

type breaker struct {
	mu       sync.Mutex
	failures int       // in a row
	probe    time.Time // when the last probe was let through, or the breaker opened
	before   time.Time // what probe was before the last one
}

func (b *breaker) admit(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return 0
	}
	if wait = probeEvery - now.Sub(b.probe); wait > 0 {
		return wait
	}
	b.before, b.probe = b.probe, now
	return 0
}

// isOpen reports whether only probes are let through.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= breakAfter
}

// withdraw gives back a probe that did not become a send, so that the next one need not wait.
func (b *breaker) withdraw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.before.IsZero() {
		b.probe, b.before = b.before, time.Time{}
	}
}

// report counts what became of a send, and says whether the breaker is open now.
func (b *breaker) report(answered bool, now time.Time) (open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = time.Time{}
	if answered {
		b.failures = 0
		return false
	}
	if b.failures++; b.failures == breakAfter {
		b.probe = now
	}
	return b.failures >= breakAfter
}

// rate lets at most N through in any Period. It is not a token bucket, because a full bucket and its refill
// together would let twice as many through, and receivers count.
type rate struct {
	channel.Rate

	mu     sync.Mutex
	passed []time.Time // of the last period, oldest first; at most N
}

// rates are limits that hold together.
type rates []*rate

func (rs rates) admit(now time.Time) (wait time.Duration) {
	for i, r := range rs {
		if wait = r.admit(now); wait > 0 {
			rs[:i].withdraw()
			return wait
		}
	}
	return 0
}

func (rs rates) withdraw() {
	for _, r := range rs {
		r.withdraw()
	}
}

func (r *rate) admit(now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(now)
	if len(r.passed) >= r.N {
		return r.Period - now.Sub(r.passed[0])
	}
	r.passed = append(r.passed, now)
	return 0
}

func (r *rate) forgetLocked(now time.Time) {
	for len(r.passed) > 0 && now.Sub(r.passed[0]) >= r.Period {
		r.passed = r.passed[1:]
	}
}

// withdraw gives back one that was admitted and did not become a send.
func (r *rate) withdraw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.passed) > 0 {
		r.passed = r.passed[:len(r.passed)-1]
	}
}

// wait is when the next but ahead may pass.
func (rs rates) wait(now time.Time, ahead int) (wait time.Duration) {
	for _, r := range rs {
		wait = max(wait, r.wait(now, ahead))
	}
	return wait
}

func (r *rate) wait(now time.Time, ahead int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(now)
	ahead -= r.N - len(r.passed) // those pass now
	if ahead < 0 {
		return 0
	}
	rounds, i := ahead/r.N, ahead%r.N
	passed := now // of those that pass now
	if i < len(r.passed) {
		passed = r.passed[i]
	}
	return max(passed.Add(time.Duration(rounds+1)*r.Period).Sub(now), 1)
}

// waiting is one that a rate holds back.
type waiting struct {
	key
	rank
	until time.Time // when it counts no more, because it was expected back before
}

const (
	longestLine = 4096
	grace       = 2 * time.Second // for one whose time has come to be looked at
)

// line has those that a channel's rate holds back, the best first, so that each is told when its own turn comes, and nobody takes a
// better one's.
type line struct {
	mu  sync.Mutex
	all []waiting // by rank; at most longestLine
	by  map[key]rank
}

// admit lets w through the rates unless better ones wait for what is left of them. A line that is too long has no place for w.
func (l *line) admit(now time.Time, rs rates, w waiting) (wait time.Duration, inLine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.by[w.key]; ok {
		l.removeLocked(w.key, r)
	}
	place, _ := l.findLocked(w)
	ahead := 0
	for _, o := range l.all[:place] {
		if !o.until.Before(now) {
			ahead++
		}
	}
	if wait = rs.wait(now, ahead); wait == 0 {
		return rs.admit(now), false
	}
	if place == longestLine {
		return wait, false
	}
	w.until = now.Add(wait + grace)
	if l.by == nil {
		l.by = map[key]rank{}
	}
	l.all = slices.Insert(l.all, place, w)
	l.by[w.key] = w.rank
	if len(l.all) > longestLine {
		delete(l.by, l.all[longestLine].key)
		l.all = l.all[:longestLine]
	}
	return wait, true
}

func (l *line) findLocked(w waiting) (int, bool) {
	return slices.BinarySearchFunc(l.all, w, func(a, b waiting) int {
		return cmp.Or(a.compare(b.rank), cmp.Compare(a.id, b.id))
	})
}

func (l *line) removeLocked(k key, r rank) {
	if i, ok := l.findLocked(waiting{key: k, rank: r}); ok {
		l.all = slices.Delete(l.all, i, i+1)
	}
	delete(l.by, k)
}
