// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// The watchdog notices that the daemon itself was stopped when its loop comes later than planned by more than stallMin. That
// time is not the agents' silence, and for graceAfter nobody is judged silent, so that calls already queued are read first.
const (
	stallMin   = 100 * time.Millisecond
	graceAfter = time.Second
	tick       = 200 * time.Millisecond // longest sleep while a claim has a heartbeat
	sleepMost  = time.Minute
)

// watchdog looks at each claim when something of it is due: a renewal, the end of its trust, of its heartbeat, of its cap. One
// goroutine and one heap serve all; only a renewal under way has a goroutine of its own, so a slow node delays no other claim.
type watchdog struct {
	trust trust
	now   func() time.Duration
	renew func(*claim)              // begins a renewal, which ends with renewed
	end   func(*claim, Reason) bool // ends a claim
	free  func(*claim)              // frees the lock of one that ended
	wake  chan struct{}

	mu      sync.Mutex
	due     dueHeap
	planned time.Duration // CLOCK_BOOTTIME when the loop means to be here again
	beating int           // claims with a heartbeat in the heap
	stalled time.Duration // for how long the daemon was stopped or did not serve, in sum
	grace   time.Duration // CLOCK_BOOTTIME until which silence is not judged
	pausing bool          // silence is not counted: the daemon does not serve
	paused  time.Duration // CLOCK_BOOTTIME since when

	underway renewals
}

type dueClaim struct {
	claim *claim
	at    time.Duration
}

type dueHeap []dueClaim

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueClaim)) }
func (h *dueHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = dueClaim{}
	*h = (*h)[:len(*h)-1]
	return last
}

func newWatchdog(t trust, now func() time.Duration, renew func(*claim), end func(*claim, Reason) bool, free func(*claim)) *watchdog {
	return &watchdog{trust: t, now: now, renew: renew, end: end, free: free, wake: make(chan struct{}, 1), underway: renewals{}}
}

// moment is a time on the watchdog's clocks.
type moment struct {
	now     time.Duration // CLOCK_BOOTTIME
	clock   time.Duration // the same without the time in which the daemon was stopped or did not serve
	grace   time.Duration // CLOCK_BOOTTIME until which silence is not judged
	pausing bool          // the clock stands
}

func (w *watchdog) at(now time.Duration) moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := moment{now, now - w.stalled, w.grace, w.pausing}
	if w.pausing {
		m.clock = w.paused - w.stalled
	}
	return m
}

// pauseSilence stops the clock that silence is counted on, from a drain until the next run of the daemon serves.
func (w *watchdog) pauseSilence() {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.pausing {
		w.pausing, w.paused = true, now
	}
}

// resumeSilence lets the clock go on. The calls that have waited are read first.
func (w *watchdog) resumeSilence() {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pausing {
		w.pausing, w.stalled, w.grace = false, w.stalled+now-w.paused, now+graceAfter
	}
}

// follow has a claim looked at when something of it is due.
func (w *watchdog) follow(c *claim) {
	m := w.at(w.now())
	c.mu.Lock()
	at := min(c.renewAt, c.endLocked(m))
	c.mu.Unlock()
	w.schedule(c, at)
}

// schedule has a claim looked at at a time. A claim may stand in the heap more than once; the extra look does no harm.
func (w *watchdog) schedule(c *claim, at time.Duration) {
	now := w.now()
	w.mu.Lock()
	w.planned = min(w.planned, max(at, now))
	if c.heartbeat > 0 {
		w.planned = min(w.planned, now+tick)
	}
	first := len(w.due) == 0 || at < w.due[0].at || c.heartbeat > 0 && w.beating == 0
	heap.Push(&w.due, dueClaim{c, at})
	if c.heartbeat > 0 {
		w.beating++
	}
	w.mu.Unlock()
	if first {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// loop calls running whenever it comes round while silence counts, and tells of its progress.
func (w *watchdog) loop(ctx context.Context, running func(now time.Duration), p *progress) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.pause(w.now(), p.every)
	for {
		now := w.now()
		w.noticeStall(now)
		if !w.at(now).pausing {
			running(now)
		}
		for _, c := range w.take(now) {
			if at := w.inspect(c, now); at > 0 {
				w.schedule(c, at)
			}
		}
		w.report(p, now)
		pause := w.pause(now, p.every)
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
			return
		}
	}
}

// noticeStall counts the time by which the loop comes too late.
func (w *watchdog) noticeStall(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if late := now - w.planned; late > stallMin && !w.pausing {
		w.stalled += late
		w.grace = now + graceAfter
	}
}

// take removes what is due by now.
func (w *watchdog) take(now time.Duration) []*claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []*claim
	for len(w.due) > 0 && w.due[0].at <= now {
		c := heap.Pop(&w.due).(dueClaim).claim
		if c.heartbeat > 0 {
			w.beating--
		}
		due = append(due, c)
	}
	return due
}

// pause is how long the loop may sleep, and plans for that.
func (w *watchdog) pause(now, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause := min(sleepMost, most)
	if w.beating > 0 {
		pause = tick
	}
	if len(w.due) > 0 {
		pause = min(pause, max(w.due[0].at-now, 0))
	}
	w.planned = now + pause
	return pause
}

// inspect does what is due for a claim and says when to look again; 0: never.
func (w *watchdog) inspect(c *claim, now time.Duration) time.Duration {
	m := w.at(now)
	c.mu.Lock()
	if c.status != Held {
		defer c.mu.Unlock()
		if c.freeAt == 0 || now < c.freeAt {
			return c.freeAt
		}
		c.freeAt = 0
		w.free(c)
		return 0
	}
	next := c.endLocked(m)
	switch {
	case now >= c.trusted:
		c.mu.Unlock()
		w.end(c, ReasonExpired)
		return 0
	case now >= c.cappedAt():
		c.mu.Unlock()
		w.end(c, ReasonMaxHold)
		return now + w.trust.margin
	case now >= next:
		c.mu.Unlock()
		w.end(c, ReasonSilent)
		return now + w.trust.margin
	}
	defer c.mu.Unlock()
	if !c.renewing && now >= c.renewAt {
		c.renewing = true
		w.begin(c, now)
		w.renew(c)
	}
	if !c.renewing {
		next = min(next, c.renewAt)
	}
	return next
}

// hurry has a claim renewed within so long, to see whether it is still ours. One that is ending is what was heard of.
func (w *watchdog) hurry(c *claim, within time.Duration) {
	at := w.now() + within
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending > 0 {
		return
	}
	c.renewAt, c.hurried = min(c.renewAt, at), c.renewing
	w.schedule(c, at)
}
