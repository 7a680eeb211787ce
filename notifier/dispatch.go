// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/outbox"
)

const (
	window     = 512         // how far past what is in memory the outbox is read
	urgeEvery  = time.Second // between two looks for something urgent behind full lanes
	longestNap = time.Minute // bounds what a step of the wall clock can delay
	readCost   = 5 * time.Microsecond
)

// loop looks into the outbox when it has news, and when the next channel is due.
func (n *Notifier) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-n.quit.Done():
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
		case <-n.quit.Done():
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

func (n *Notifier) nap() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wake.IsZero() {
		return longestNap
	}
	return min(max(time.Until(n.wake), 0), longestNap)
}
