// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Attempt decides whether the notifier may send now (see outbox.Verdict). It asks for 5 s in which this process runs. Then it says
// outbox.ErrAway if nobody can have taken the intent over and its ticket named it just before, else a store.ErrUnavailable. Whether the
// own outbox has a receipt, the notifier has looked before: that holds without Redis too.
func (c *Courier) Attempt(ctx context.Context, a outbox.Attempt) (outbox.Answer, error) {
	if err := c.config.Trust.Identity(); err != nil {
		return outbox.Answer{}, err
	}
	asked := c.config.Now()
	answer, err := c.store.Attempt(ctx, a, *c.config.Daemon)
	staged := c.Staged(a)
	switch {
	case errors.Is(err, outbox.ErrAway) && !c.config.Trust.Unbroken(staged):
		err = &store.UnavailableError{Why: "no answer, and another daemon may have taken over before", Silent: true}
	case errors.Is(err, outbox.ErrAway) && !c.Fresh(a, asked):
		err = &store.UnavailableError{Why: "no answer, and an administrator may have decided otherwise since the ticket last did", Silent: true}
	}
	answer.Sole = answer.Verdict == outbox.Lost && c.config.Trust.Stood(staged) && c.current.sole(a.ID, time.Since(staged), c.config.Now())
	return answer, err
}

// Outcome records what became of an attempt on the ticket. closed: the ticket needs nothing more from this intent. Errors:
// outbox.ErrAway, store.ErrUnavailable.
func (c *Courier) Outcome(ctx context.Context, o outbox.Outcome) (closed bool, err error) {
	return c.store.Outcome(ctx, o, *c.config.Daemon)
}

// Staged is when an intent was staged by this host's clock as it goes now, whatever it was set to since; zero if another boot staged
// it, and At alone where that is not known.
func (c *Courier) Staged(a outbox.Attempt) time.Time {
	switch a.Boot {
	case "":
		return a.At
	case c.config.Boot:
		return time.Now().Add(a.Clock - c.config.Now())
	}
	return time.Time{}
}

// Fresh reports whether an intent may go out though Redis answers nothing since it was asked at that time: its ticket had named it
// just before, in this run of the daemon, or in the one before it, when it was staged.
func (c *Courier) Fresh(a outbox.Attempt, asked time.Duration) bool {
	spent := c.config.Now() - asked
	age := time.Since(c.Staged(a)) - spent
	return c.current.since(a.ID, asked-currentFor) || age >= 0 && age < currentFor
}

const (
	currentFor = 5 * time.Second  // for which what a ticket said of an intent is relied upon without Redis
	heardFor   = 25 * time.Second // without a round that was answered: as long as a sign of life lives
	doubtedFor = 10 * time.Minute // since the last round that asked about it; more than that takes, with what an outbox can hold
)

// current is when the tickets of intents were last asked, on CLOCK_BOOTTIME, and named them as this daemon's.
type current struct {
	mu sync.Mutex
	at map[string]time.Duration

	doubts map[string]time.Duration // likewise, of which the ticket had an attempt on an at_most_once channel that this outbox has not begun

	heard bool          // a round was answered
	last  time.Duration // when the last of those began
	whole time.Duration // when the first of those began between which there was always less than heardFor
}

// hear notes that a round which began at that time was answered.
func (c *current) hear(began time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.heard || began-c.last >= heardFor {
		c.whole = began
	}
	c.heard, c.last = true, began
}

// sole reports whether the rounds since an intent was staged, so long ago, would have shown another daemon's attempt, and have not.
func (c *current) sole(intent string, age, now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, doubted := c.doubts[intent]
	return !doubted && c.heard && now-c.last < heardFor && age <= now-c.whole
}

func (c *current) confirm(intent string, asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]time.Duration{}
	}
	c.at[intent] = max(c.at[intent], asked)
}

// since reports whether an intent was confirmed at that time or later.
func (c *current) since(intent string, at time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	confirmed, ok := c.at[intent]
	return ok && confirmed >= at
}

// doubt notes whether another daemon may have begun an intent. A ticket that is lost, or answers nothing, changes nothing: named is false.
func (c *current) doubt(intent string, named, begun bool, asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, was := c.doubts[intent]
	switch {
	case named && begun || !named && was:
		if c.doubts == nil {
			c.doubts = map[string]time.Duration{}
		}
		c.doubts[intent] = asked
	case named:
		delete(c.doubts, intent)
	}
}

// forget drops what is from before that time, and doubts somewhat later.
func (c *current) forget(before time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, at := range c.doubts {
		if at < before-doubtedFor {
			delete(c.doubts, id)
		}
	}
	for id, at := range c.at {
		if at < before {
			delete(c.at, id)
		}
	}
}
