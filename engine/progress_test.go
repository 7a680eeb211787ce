// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// reports counts the calls of Progress, one in 5 s to one in 10 s.
func reports(n *atomic.Int64) func(*Config) {
	return func(c *Config) { c.Progress, c.ProgressEvery = func() { n.Add(1) }, 5*time.Second }
}

// stuck is a log that takes no line until it is closed.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

// TestProgressIsTheLoopsOwn: it is told while Redis is away and while there is nothing to do.
func TestProgressIsTheLoopsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		_, c, _ := bubble(t, func() (any, error) { return nil, errors.New("away") }, nil, reports(&n))
		time.Sleep(time.Minute) // of which the claim is there for 12 s
		if got := n.Load(); got < 6 || got > 13 {
			t.Errorf("in a minute without Redis it was told %d times", got)
		}
		if r := reasonOf(c); r != ReasonExpired {
			t.Errorf("the claim's reason is %q", r)
		}
	})
}

// TestProgressIsNotToldWhileTheLoopIsStuck, here in writing that a claim is lost.
func TestProgressIsNotToldWhileTheLoopIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		log := make(stuck)
		e, _, _ := bubble(t, func() (any, error) { return nil, errors.New("away") }, nil, reports(&n), func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		})
		time.Sleep(e.config.TTL)
		before := n.Load()
		time.Sleep(time.Minute)
		if got := n.Load(); before == 0 || got != before {
			t.Errorf("it was told %d times before the loop was stuck, and %d times then", before, got-before)
		}
		close(log)
		time.Sleep(11 * time.Second)
		if n.Load() == before {
			t.Error("it was not told again when the loop went on")
		}
	})
}

// TestProgressIsNotToldWhileARenewalHangs: its calls have time-outs, so one that does not come back is this process' fault.
func TestProgressIsNotToldWhileARenewalHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		hang := make(chan struct{})
		e, _, _ := bubble(t, func() (any, error) { <-hang; return nil, errors.New("late") }, nil, reports(&n))
		time.Sleep(e.config.TTL/3 + e.config.TTL) // it began after 4.5 s to 5.5 s
		before := n.Load()
		if before < 2 {
			t.Errorf("it was told %d times before the renewal hung", before)
		}
		time.Sleep(e.config.TTL / 10)
		before = n.Load()
		time.Sleep(time.Minute)
		if got := n.Load(); got != before {
			t.Errorf("it was told %d times while the renewal hung", got-before)
		}
		close(hang)
		time.Sleep(11 * time.Second)
		if n.Load() == before {
			t.Error("it was not told again when the renewal came back")
		}
	})
}
