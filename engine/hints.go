// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// eachHint goes through a daemon's hints in pages, several at once, each within the ticket's turn among the notify calls. A ticket
// that fails stops none of the others; the error, if there is one, counts them and names the first.
func (e *Engine) eachHint(ctx context.Context, daemon string, do func(context.Context, TicketID, redis.Z) (dropped bool, err error)) error {
	key := e.keys.undelivered(daemon)
	var failed troubles
	for start := int64(0); ; {
		hinted, err := e.redis.ZRangeWithScores(ctx, key, start, start+settleBatch-1).Result()
		if err != nil {
			return unavailable(err)
		}
		start += e.eachOf(ctx, hinted, &failed, do)
		if len(hinted) < settleBatch || ctx.Err() != nil {
			return failed.err()
		}
	}
}

// eachOf goes through one page and returns how many of its hints are left.
func (e *Engine) eachOf(ctx context.Context, page []redis.Z, failed *troubles, do func(context.Context, TicketID, redis.Z) (bool, error)) int64 {
	var g errgroup.Group
	g.SetLimit(settleOnce)
	left := make([]bool, len(page))
	for i, z := range page {
		left[i] = true
		name, _ := z.Member.(string)
		id, err := ParseTicketID(name)
		if err != nil {
			failed.add(name, err)
			continue
		}
		g.Go(func() error {
			leave, err := e.calls.enter(ctx, name)
			if err != nil {
				return nil
			}
			defer leave()
			dropped, err := do(ctx, id, z)
			if err != nil {
				failed.add(name, err)
			}
			left[i] = !dropped
			return nil
		})
	}
	_ = g.Wait()
	n := int64(0)
	for _, stays := range left {
		if stays {
			n++
		}
	}
	return n
}

// troubles are those of a round through many tickets.
type troubles struct {
	mu     sync.Mutex
	n      int
	ticket string // the first
	first  error
}

func (f *troubles) add(ticket string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n == 1 {
		f.ticket, f.first = ticket, err
	}
}

func (f *troubles) err() error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("cannot deal with %d of the tickets, the first is %s: %w", f.n, f.ticket, f.first)
}

// said is what a loop has logged last: a trouble that lasts is said when it changes, and once an hour.
type said struct {
	what string
	at   time.Time
}

func (s *said) warn(log *slog.Logger, what string, err error) {
	if err == nil {
		*s = said{}
		return
	}
	if s.what == err.Error() && time.Since(s.at) < time.Hour {
		return
	}
	s.what, s.at = err.Error(), time.Now()
	log.Warn(what, "error", err)
}
