// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"errors"
	"log/slog"
	"math/rand/v2"
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
	longestNap = time.Minute // bounds what a step of the wall clock can delay
	readCost   = 5 * time.Microsecond
	errorPause = time.Second      // after the outbox could not be read
	leastPace  = time.Millisecond // of a lane of which nothing is known yet
)

// key is one intent on one channel.
type key struct{ id, channel string }

// lane is what waits for one channel. A slow one fills up and holds nobody else.
type lane struct {
	*channel     // nil for the channels that are not configured
	most     int // workers

	// guarded by Notifier.mu:
	queue   []outbox.Due
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
		left, hidden := n.enqueue(due)
		if len(due) < known+window {
			if !next.IsZero() {
				n.wakeAt(next)
			}
			break
		}
		if len(left) > 0 && !hidden {
			break // the lane asks for more when it has room
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
func (n *Notifier) enqueue(due []outbox.Due) (left []outbox.Due, hidden bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, d := range due {
		k := key{d.ID, d.Channel}
		if _, ok := n.known[k]; ok {
			continue
		}
		l := n.lanes[d.Channel]
		if l == nil {
			l = n.lanes[""]
		}
		if len(l.queue) >= maxQueue {
			if l.full.IsZero() {
				l.full, l.done = now, 0
			}
			l.left++
			pace := (now.Sub(l.full) + leastPace) / time.Duration(l.done+1)
			d.At = now.Add(min(pace*time.Duration(len(l.queue)+l.left)/2, n.RetryMax))
			left = append(left, d)
			continue
		}
		n.known[k] = struct{}{}
		l.queue = append(l.queue, d)
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
	for d, ok := n.take(l); ok; d, ok = n.take(l) {
		k := key{d.ID, d.Channel}
		again := n.look(l.channel, d, k)
		n.mu.Lock()
		delete(n.known, k) // first: a look that comes while it is known passes over it
		if !again.IsZero() {
			n.wakeAtLocked(again)
		}
		n.mu.Unlock()
	}
}

func (n *Notifier) take(l *lane) (d outbox.Due, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(l.queue) == 0 || n.ended {
		l.running--
		return d, false
	}
	d, l.queue = l.queue[0], l.queue[1:]
	l.done++
	if !l.full.IsZero() && len(l.queue) < maxQueue/2 {
		l.full = time.Time{}
		n.wakeAtLocked(time.Now())
	}
	return d, true
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
