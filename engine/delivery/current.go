// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"sync"
	"time"
)

const (
	currentFor = 5 * time.Second  // for which what a ticket said of an intent is relied upon without Redis
	doubtedFor = 10 * time.Minute // since the last round that asked about it
)

// current is when the tickets of intents were last asked, on CLOCK_BOOTTIME, and named them as this daemon's.
type current struct {
	mu sync.Mutex
	at map[string]time.Duration

	doubts map[string]time.Duration // likewise, of which the ticket had an attempt on an at_most_once channel that this outbox has not begun
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

// doubt notes whether another daemon may have begun an intent. A ticket that is lost says nothing, and changes nothing: named is false.
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

func (c *current) doubted(intent string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.doubts[intent]
	return is
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
