// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// slow keeps the first writes of the index until on closes.
type slow struct {
	begun, on chan struct{}
	once      *sync.Once
}

func (slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (s slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" {
			s.once.Do(func() { close(s.begun) })
			<-s.on
		}
		return next(ctx, cmds)
	}
}

// TestAListingHasWhatIsBeingIndexed, though the loop has it in hand.
func TestAListingHasWhatIsBeingIndexed(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s, id := over(t, c), ID("a", "t")
	if err := c.HSet(t.Context(), s.Keys.Ticket(id), "state", string(Init)).Err(); err != nil {
		t.Fatal(err)
	}
	hook := slow{make(chan struct{}), make(chan struct{}), new(sync.Once)}
	c.AddHook(hook)
	s.Touch(id, Stand{State: Init, UpdatedAt: time.Now()})
	go func() { _ = s.flushIndex(t.Context()) }()
	<-hook.begun
	listed := make(chan int, 1)
	go func() {
		page, _ := s.Tickets(t.Context(), TicketQuery{Limit: 10})
		listed <- len(page.Tickets)
	}()
	select {
	case n := <-listed:
		t.Fatalf("it did not wait, and has %d tickets", n)
	case <-time.After(50 * time.Millisecond):
	}
	close(hook.on)
	if n := <-listed; n != 1 {
		t.Errorf("it has %d tickets", n)
	}
}
