// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

const (
	maxQueue  = 1024             // what waits in memory for one channel
	leastPace = time.Millisecond // of a lane of which nothing is known yet
)

// enqueue puts what is not in memory yet into its lane. It returns what found its lane full, with an At for when the lane may
// get to it, and whether a configured lane has room, so that it may be missing something.
//
// The lane's own pace says when that is. Half of it is taken, so that a lane that gets faster does not run dry.
//
// Each lane has the best in front. What is better than the last in a full one takes its place; that stays in the outbox.
func (n *Notifier) enqueue(due []ranked) (left []outbox.Due, hidden bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, d := range due {
		e := entry{Due: d.Due}
		if _, ok := n.known[e.key()]; ok {
			continue
		}
		l := n.lanes[d.Channel]
		if l == nil {
			l = n.lanes[""]
		}
		m := n.memos[e.key()]
		e.rank = m.rank
		var s seat
		if !m.seated {
			e.rank, s = l.turns.of(d.in)
		}
		if len(l.queue) >= maxQueue {
			if l.full.IsZero() {
				l.full, l.done = now, 0
			}
			l.left++
			out := e
			if last := l.queue[maxQueue-1]; e.compare(last.rank) < 0 {
				out, l.queue = last, l.queue[:maxQueue-1]
				delete(n.known, last.key())
			}
			pace := (now.Sub(l.full) + leastPace) / time.Duration(l.done+1)
			out.At = now.Add(min(pace*time.Duration(len(l.queue)+l.left)/2, n.RetryMax))
			left = append(left, out.Due)
			if out.key() == e.key() {
				continue
			}
		}
		if !m.seated {
			l.turns.deal(e.rank, s)
		}
		n.known[e.key()] = struct{}{}
		place, _ := slices.BinarySearchFunc(l.queue, e, func(a, b entry) int { return a.compare(b.rank) })
		l.queue = slices.Insert(l.queue, place, e)
		if l.running < l.most {
			l.running++
			n.workers.Go(func() { n.work(l) })
		}
	}
	for _, l := range n.lanes {
		hidden = hidden || l.gate != nil && len(l.queue) < maxQueue/2
	}
	return left, hidden
}

// work looks at what waits in a lane until nothing does.
func (n *Notifier) work(l *lane) {
	for e, ok := n.take(l); ok; e, ok = n.take(l) {
		k := e.key()
		again := n.look(l.gate, e, k)
		n.mu.Lock()
		delete(n.known, k) // first: a look that comes while it is known passes over it
		if !again.IsZero() {
			n.wakeAtLocked(again)
		}
		n.mu.Unlock()
	}
}

func (n *Notifier) take(l *lane) (e entry, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(l.queue) == 0 || n.ended {
		l.running--
		return e, false
	}
	e, l.queue = l.queue[0], l.queue[1:]
	l.done++
	if !l.full.IsZero() && len(l.queue) < maxQueue/2 {
		l.full = time.Time{}
		n.wakeAtLocked(time.Now())
	}
	return e, true
}

func (n *Notifier) inHand() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.known)
}

// entry is what waits in a lane.
type entry struct {
	outbox.Due
	rank
}

func (e entry) key() key { return key{e.ID, e.Channel} }

// lane is what waits for one channel. A slow one fills up and holds nobody else.
type lane struct {
	*gate     // nil for the channels that are not configured
	most  int // workers

	// guarded by Notifier.mu:
	queue   []entry // the best first
	turns   turns
	running int       // workers, at most most
	full    time.Time // since when it has been full without falling below half; zero: it has room
	done    int       // looks that ended since then
	left    int       // how much the last scan left in the outbox
}

// ranked is what is due, and the intent without its channels.
type ranked struct {
	outbox.Due
	in outbox.Intent
}

// key is one intent on one channel.
type key struct{ id, channel string }

// rank says what goes first on a channel: the severity, then users in turn, then age.
type rank struct {
	severity int           // of channel.Severities: the higher, the earlier
	turn     int64         // of its user among those of the severity
	at       time.Duration // when the intent was staged, from the epoch
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.severity, r.severity), cmp.Compare(r.turn, o.turn), cmp.Compare(r.at, o.at))
}

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
	s := seat{slices.Index(channel.Severities, in.Severity), in.User}
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
