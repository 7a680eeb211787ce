// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/outbox"
)

// rank says what goes first on a channel: the severity, then users in turn, then age.
type rank struct {
	severity int           // of severities: the higher, the earlier
	turn     int64         // of its user among those of the severity
	at       time.Duration // when the intent was staged, from the epoch
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.severity, r.severity), cmp.Compare(r.turn, o.turn), cmp.Compare(r.at, o.at))
}

var severities = []string{"info", "low", "medium", "high", "critical"}

// turns deals out the turns of a lane: each user's next is one after the user's last, and who has none begins with what is being
// served. So a user with one notification is not behind another's hundreds.
type turns struct {
	served map[int]int64 // by severity
	next   map[seat]int64
}

type seat struct {
	severity int
	user     string
}

// maxSeats is when the seats are gone through for those that nobody waits on.
const maxSeats = 1024

func newTurns() turns { return turns{map[int]int64{}, map[seat]int64{}} }

// of is the rank of an intent whose turn has not been dealt out.
func (t turns) of(in outbox.Intent) (rank, seat) {
	s := seat{slices.Index(severities, in.Severity), in.User}
	return rank{s.severity, max(t.served[s.severity], t.next[s]), time.Duration(in.At.UnixNano())}, s
}

// deal deals out a turn that of returned.
func (t turns) deal(r rank, s seat) {
	t.next[s] = r.turn + 1
	if len(t.next) <= maxSeats {
		return
	}
	for s, next := range t.next {
		if next <= t.served[s.severity] {
			delete(t.next, s)
		}
	}
}

// serve notes whose turn it is in a channel's lane.
func (n *Notifier) serve(channel string, r rank) {
	n.mu.Lock()
	defer n.mu.Unlock()
	served := n.lanes[channel].turns.served
	served[r.severity] = max(served[r.severity], r.turn)
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
	ahead -= r.n - len(r.passed) // those pass now
	if ahead < 0 {
		return 0
	}
	rounds, i := ahead/r.n, ahead%r.n
	passed := now // of those that pass now
	if i < len(r.passed) {
		passed = r.passed[i]
	}
	return max(passed.Add(time.Duration(rounds+1)*r.period).Sub(now), 1)
}
