// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"slices"
	"time"

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
