// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
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
	*Engine
	wake chan struct{}

	mu      sync.Mutex
	due     dueHeap
	planned time.Duration // CLOCK_BOOTTIME when the loop means to be here again
	beating int           // claims with a heartbeat in the heap
	stalled time.Duration // for how long the daemon was stopped or did not serve, in sum
	grace   time.Duration // CLOCK_BOOTTIME until which silence is not judged
	pausing bool          // silence is not counted: the daemon does not serve
	paused  time.Duration // CLOCK_BOOTTIME since when

	underway renewals
	reported time.Duration // CLOCK_BOOTTIME of the last call of Progress
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

func newWatchdog(e *Engine) *watchdog {
	return &watchdog{Engine: e, wake: make(chan struct{}, 1), underway: renewals{}}
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

func (w *watchdog) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.pause(w.now())
	for {
		now := w.now()
		w.noticeStall(now)
		if !w.at(now).pausing {
			w.journal.running(now)
		}
		for _, c := range w.take(now) {
			if at := w.look(c, now); at > 0 {
				w.schedule(c, at)
			}
		}
		w.report(now)
		pause := w.pause(now)
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
func (w *watchdog) pause(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause := min(sleepMost, w.ProgressEvery)
	if w.beating > 0 {
		pause = tick
	}
	if len(w.due) > 0 {
		pause = min(pause, max(w.due[0].at-now, 0))
	}
	w.planned = now + pause
	return pause
}

// look does what is due for a claim and says when to look again; 0: never.
func (w *watchdog) look(c *claim, now time.Duration) time.Duration {
	m := w.at(now)
	c.mu.Lock()
	if c.status != Held {
		defer c.mu.Unlock()
		if c.freeAt == 0 || now < c.freeAt {
			return c.freeAt
		}
		c.freeAt = 0
		w.spawn(func(ctx context.Context) { w.free(ctx, c) })
		return 0
	}
	next := c.endLocked(m)
	switch {
	case now >= c.trusted:
		c.mu.Unlock()
		w.conclude(c, ReasonExpired)
		return 0
	case now >= c.cappedAt():
		c.mu.Unlock()
		w.conclude(c, ReasonMaxHold)
		return now + w.margin
	case now >= next:
		c.mu.Unlock()
		w.conclude(c, ReasonSilent)
		return now + w.margin
	}
	defer c.mu.Unlock()
	if !c.renewing && now >= c.renewAt {
		c.renewing = true
		w.begin(c, now)
		w.spawn(func(ctx context.Context) { w.renew(ctx, c) })
	}
	if !c.renewing {
		next = min(next, c.renewAt)
	}
	return next
}

// hurry has a claim renewed at once, to see whether it is still ours. One that is ending is what was heard of.
func (w *watchdog) hurry(c *claim) {
	now := w.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return
	}
	c.renewAt, c.hurried = min(c.renewAt, now), c.renewing
	w.schedule(c, now)
}

// jitter spreads a pause over 90 to 110 percent of it.
func jitter(d time.Duration) time.Duration { return d*9/10 + rand.N(d/5+1) }

// renew extends the lock of one claim. A lease's clock starts when the attempt was sent. That the lock is gone is an answer;
// any other failure is unknown, is tried again, and is a loss only when the trust runs out.
func (w *watchdog) renew(ctx context.Context, c *claim) {
	defer w.over(c)
	sent := w.now()
	ctx, cancel := context.WithTimeout(ctx, w.TTL/6)
	extended, err := c.lock.ExtendContext(ctx)
	cancel()

	var taken *redsync.ErrTaken
	gone := !extended && errors.As(err, &taken)
	reason := ReasonExpired
	if gone {
		reason = w.diagnose(c, w.TTL/6)
	}

	c.mu.Lock()
	c.renewing = false
	result := "failed"
	switch {
	case extended:
		result = "ok"
		c.trusted = sent + w.TTL - w.margin
		c.renewAt = sent + jitter(w.TTL/3)
	case gone && !c.ending:
		result = "taken"
	default:
		c.renewAt = w.now() + jitter(w.TTL/12)
	}
	if c.hurried { // what was heard of may have come after this renewal
		c.hurried, c.renewAt = false, w.now()
	}
	at, held := c.renewAt, c.status == Held
	c.mu.Unlock()
	w.metrics.renewals.WithLabelValues(result).Inc()
	switch {
	case !held:
	case result == "taken":
		w.conclude(c, reason)
	default:
		w.schedule(c, at)
	}
}

// diagnose reads why a lock is no longer the claim's, within a limit.
func (w *watchdog) diagnose(c *claim, limit time.Duration) Reason {
	ctx, cancel := context.WithTimeout(w.life, limit)
	defer cancel()
	if c.isUnanswered() {
		if ended, err := w.endedByCall(ctx, c); err == nil && ended {
			return ReasonReleased
		}
	}
	snap, err := w.Engine.look(ctx, c.ticket)
	reset := snap.lock == "" && snap.grantNonce == "" && len(snap.fields) == 0
	if err == nil && !reset && snap.grantNonce == "" { // it lives longer than any claim
		w.tokenBack(c.ticket.Asset, c.token, "none")
	}
	switch {
	case err != nil:
		return ReasonExpired
	case reset:
		return ReasonStoreReset
	case snap.grantForced:
		return ReasonForced
	case snap.grantNonce != c.nonce || snap.lock != "" && snap.lock != c.nonce:
		return ReasonTaken
	}
	return ReasonExpired
}

// free deletes the lock of a claim that ended while its agent may still be there, and logs the loss. It is tried until the lock
// would have run out by itself.
func (w *watchdog) free(ctx context.Context, c *claim) {
	ctx, cancel := context.WithTimeout(ctx, w.TTL)
	defer cancel()
	c.mu.Lock()
	reason := c.reason
	c.mu.Unlock()
	_, err := w.commit(ctx, releaseScript, c.ticket, c.event(""), w.args(c.ticket, c.token, c.nonce, c.agent, "", "lost", string(reason)))
	if err != nil {
		w.log.Warn("cannot free the lock of an ended claim; it runs out by itself", "ticket", c.ticket.String(), "error", err)
	}
}
