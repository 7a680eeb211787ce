// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/outbox"
)

const (
	parallel   = 16          // attempts on one channel at once
	hooks      = 64          // the same on a webhook, which a program reads: with fewer, the fsyncs in between set the pace
	maxQueue   = 1024        // what waits in memory for one channel
	window     = 512         // how far past what is in memory the outbox is read
	urgeEvery  = time.Second // between two looks for something urgent behind full lanes
	longestNap = time.Minute // bounds what a step of the wall clock can delay
	readCost   = 5 * time.Microsecond
	errorPause = time.Second      // after the outbox could not be read
	leastPace  = time.Millisecond // of a lane of which nothing is known yet
)

// key is one intent on one channel.
type key struct{ id, channel string }

// entry is what waits in a lane.
type entry struct {
	outbox.Due
	rank
}

func (e entry) key() key { return key{e.ID, e.Channel} }

// lane is what waits for one channel. A slow one fills up and holds nobody else.
type lane struct {
	*channel     // nil for the channels that are not configured
	most     int // workers

	// guarded by Notifier.mu:
	queue   []entry // the best first
	turns   turns
	running int       // workers, at most most
	full    time.Time // since when it has been full without falling below half; zero: it has room
	done    int       // looks that ended since then
	left    int       // how much the last scan left in the outbox
}

// loop looks into the outbox when it has news, and when the next channel is due.
func (n *Notifier) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-n.quit:
			return
		case <-n.box.Changed():
			n.scan()
		case <-timer.C:
			n.scan()
		case <-n.sooner:
		}
		timer.Reset(n.nap())
	}
}

// scan brings what is due into the lanes. When a full lane hides what stands behind it in the outbox, what it left is put
// off.
func (n *Notifier) scan() {
	n.mu.Lock()
	n.wake = time.Time{}
	for _, l := range n.lanes {
		l.left = 0
	}
	n.mu.Unlock()
	for !n.stopping() {
		known := n.inHand()
		due, next, err := n.box.Due(time.Now(), known+window)
		if err != nil {
			n.warn(slog.LevelError, "cannot read what is due from the outbox; nothing is sent until it can be", slog.Any("error", err))
			n.wakeAt(time.Now().Add(errorPause))
			return
		}
		fresh, err := n.fresh(due)
		if err != nil {
			n.warn(slog.LevelError, "cannot read what is due from the outbox; nothing is sent until it can be", slog.Any("error", err))
			n.wakeAt(time.Now().Add(errorPause))
			return
		}
		left, hidden := n.enqueue(fresh)
		if len(due) < known+window {
			if !next.IsZero() {
				n.wakeAt(next)
			}
			break
		}
		if len(left) > 0 && !hidden {
			n.urge() // the lane asks for more when it has room
			break
		}
		if !n.putBack(left) {
			n.wakeAt(time.Now().Add(errorPause))
			return
		}
	}
	// Every look reads past what is in memory, so with much of that the looks come further apart.
	if pause := time.Duration(n.inHand()) * readCost; pause > time.Millisecond {
		select {
		case <-n.quit:
		case <-time.After(pause):
		}
	}
}

// fresh are those that are not in memory yet, with what ranks them.
func (n *Notifier) fresh(due []outbox.Due) (fresh []ranked, err error) {
	n.mu.Lock()
	var refs []outbox.Ref
	for _, d := range due {
		if _, ok := n.known[key{d.ID, d.Channel}]; !ok {
			fresh, refs = append(fresh, ranked{Due: d}), append(refs, d.Ref)
		}
	}
	n.mu.Unlock()
	heads, err := n.box.Heads(refs)
	for i := range heads {
		fresh[i].in = heads[i]
	}
	return fresh, err
}

// ranked is what is due, and the intent without its channels.
type ranked struct {
	outbox.Due
	in outbox.Intent
}

// urge looks at what became due last while full lanes hide it: what is worse than that gives way. It is done again soon, since
// the outbox has no news as long as it has what is due.
func (n *Notifier) urge() {
	due, err := n.box.Newest(time.Now(), window)
	var fresh []ranked
	if err == nil {
		fresh, err = n.fresh(due)
	}
	if err == nil {
		n.enqueue(fresh)
	}
	n.wakeAt(time.Now().Add(urgeEvery))
}

// putBack puts off what there was no room for until At, all at once, so that the writes share their fsync.
func (n *Notifier) putBack(left []outbox.Due) (ok bool) {
	var failed atomic.Bool
	var writes sync.WaitGroup
	for _, d := range left {
		writes.Go(func() {
			err := n.box.Postpone(d.Ref, d.Channel, d.At)
			if err != nil && !errors.Is(err, outbox.ErrNotFound) {
				failed.Store(true)
			}
		})
	}
	writes.Wait()
	return !failed.Load()
}

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
		hidden = hidden || l.channel != nil && len(l.queue) < maxQueue/2
	}
	return left, hidden
}

// work looks at what waits in a lane until nothing does.
func (n *Notifier) work(l *lane) {
	for e, ok := n.take(l); ok; e, ok = n.take(l) {
		k := e.key()
		again := n.look(l.channel, e, k)
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

// wakeAt makes the loop look into the outbox at t, if it would not earlier.
func (n *Notifier) wakeAt(t time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wakeAtLocked(t)
}

func (n *Notifier) wakeAtLocked(t time.Time) {
	if !n.wake.IsZero() && !t.Before(n.wake) {
		return
	}
	n.wake = t
	select {
	case n.sooner <- struct{}{}:
	default:
	}
}

func (n *Notifier) nap() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wake.IsZero() {
		return longestNap
	}
	return min(max(time.Until(n.wake), 0), longestNap)
}

// spread is wait, and by chance so much more that all that is ready is looked at some twenty times a second, however much it
// is.
func (n *Notifier) spread(wait time.Duration) time.Duration {
	most := min(time.Duration(n.box.Stats().Ready)*50*time.Millisecond, n.RetryMax)
	return wait + rand.N(most+time.Millisecond)
}
