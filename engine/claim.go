// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
)

// claim is a claim of this daemon. What is above the mutex never changes.
type claim struct {
	id        string
	nonce     string
	token     int64
	ticket    store.TicketID
	flow      *store.Flow
	uid       uint32
	owner     uint32 // whose it is: uid, but for a foreign root
	account   uint32 // against whose limits it counts
	pid       int    // that is watched; 0: none
	caller    int    // the process that asked for the claim, or the one that it named
	agent     string // caller/uid, as it stands in Redis
	request   string // the caller's name for the request that it was granted to, or empty
	heartbeat time.Duration
	maxHold   time.Duration
	since     time.Time
	started   time.Duration    // on CLOCK_BOOTTIME
	process   *process.Process // that is watched, or nil

	size   atomic.Int64    // bytes of the ticket as it was last read; -1: not known
	writes store.Turnstile // held by the one write that is under way
	number int64           // of the last write; guarded by writes

	mu       sync.Mutex
	known    store.Records // what it recorded, as far as that is small
	left     store.Packed  // the ticket as its last write left it, if it is small
	status   Status
	reason   Reason
	trusted  time.Duration // CLOCK_BOOTTIME until which the claim can be relied upon
	renewAt  time.Duration
	freeAt   time.Duration // when the lock of an ended claim is freed; 0: not
	sign     time.Duration // last sign of life, on the watchdog's clock
	noted    time.Duration // CLOCK_BOOTTIME of the last sign of life that is in the journal
	renewing bool
	hurried  bool // another renewal is due when the one under way is over
	calls    int  // of the agent that are under way: it is not silent meanwhile
	ending   int  // releases and finishes that are under way: a lock that is gone is no loss
	finished bool // it was Finish that ended it
	// unanswered: what became of a release or finish is not known, because it got no answer, was under way when the claim was lost, or
	// may have come to an earlier run of the daemon.
	unanswered bool
	ended      chan struct{} // closes when the status is no longer held
}

// cappedAt is when on CLOCK_BOOTTIME the claim has lasted as long as it may.
func (c *claim) cappedAt() time.Duration { return c.started + c.maxHold }

// silentLocked is when on CLOCK_BOOTTIME the claim's heartbeat runs out if no sign of life comes.
func (c *claim) silentLocked(m moment) time.Duration {
	sign := c.sign
	switch {
	case c.heartbeat == 0:
		return math.MaxInt64
	case c.calls > 0:
		sign = m.clock
	}
	at := max(sign+c.heartbeat+m.now-m.clock, m.grace)
	if m.pausing {
		at = max(at, m.now+tick)
	}
	return at
}

// endLocked is when on CLOCK_BOOTTIME the claim ends if nothing comes in between: the least of its lock's trust, its heartbeat and its cap.
func (c *claim) endLocked(m moment) time.Duration {
	return min(c.trusted, c.cappedAt(), c.silentLocked(m))
}

// lost is why the claim ended, or nil while it is held.
func (c *claim) lost() *LostError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == Held {
		return nil
	}
	l := &LostError{Reason: c.reason}
	if c.reason == ReasonProcessExit {
		l.PID = c.pid
	}
	return l
}

// writer is the claim as the scripts compare it with the newest grant.
func (c *claim) writer() store.Writer {
	return store.Writer{Token: c.token, Nonce: c.nonce, Agent: c.agent}
}

// knownMost is up to how many bytes a claim keeps of its ticket, and of what it recorded, so that an answer need not read them.
const knownMost = 2 << 10

// last is the ticket as the claim's last write left it, or empty.
func (c *claim) last() store.Packed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// leave notes how a write left the ticket.
func (c *claim) leave(h store.Hash) {
	c.size.Store(h.Weight())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left = ""; h.Size() <= knownMost {
		c.left = h.Pack()
	}
}

// recorded adds what a write of the claim recorded to what is known, and returns all of it.
func (c *claim) recorded(more store.Records) store.Records {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := store.Records{}
	maps.Copy(all, c.known)
	maps.Copy(all, more)
	if all.Size() <= knownMost {
		c.known = all
	}
	return all
}

// event is one of a kind for the audit about the claim.
func (c *claim) event(kind audit.Kind) audit.Event {
	return audit.Event{Kind: kind, Asset: string(c.ticket.Asset), Task: c.ticket.Task, Token: c.token, Agent: c.agent}
}

// isUnanswered reports whether a call to end the claim got no answer.
func (c *claim) isUnanswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unanswered
}

func (c *claim) isFinished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finished
}

// setFinished notes that it is a finish which ends the claim, as Redis says.
func (c *claim) setFinished() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
}

// trust is for how long a lock lets a claim be relied upon. All is on CLOCK_BOOTTIME.
type trust struct {
	ttl    time.Duration
	margin time.Duration // by which the lock in Redis outlives the trust in it
}

func newTrust(ttl time.Duration) trust { return trust{ttl, max(ttl/5, 200*time.Millisecond)} }

// until is when the trust ends of a lock that was taken or renewed by a command sent then.
func (t trust) until(sent time.Duration) time.Duration { return sent + t.ttl - t.margin }

// renewal is when that lock is renewed next.
func (t trust) renewal(sent time.Duration) time.Duration { return sent + again.Jitter(t.ttl/3) }
