// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A ticket is stuck that is not terminal, has no claim, and was not written to for longer than its task's tickets take from their first
// claim to FINISHED: the median of those that finished last, and never less than stuckLeast, which is longer than agents pause between
// two tries.
const (
	stuckLeast = 10 * time.Minute
	stuckTaken = 101 // tickets that the median is of
)

// stuck takes out of the matches those that may well be gone on with.
func (c *candidates) stuck(ctx context.Context, found []found, matches []bool) error {
	asked := map[string]*redis.StringSliceCmd{}
	err := c.s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for i := range found {
			task := found[i].ID.Task
			if _, known := c.times[task]; matches[i] && !known && asked[task] == nil {
				asked[task] = pipe.ZRevRange(ctx, c.s.Keys.Index(task, string(Finished)), 0, stuckTaken-1)
			}
		}
	})
	if err != nil {
		return err
	}
	if err := c.measure(ctx, asked); err != nil {
		return err
	}
	for i := range found {
		matches[i] = matches[i] && c.now.Sub(found[i].UpdatedAt) > max(c.times[found[i].ID.Task], stuckLeast)
	}
	return nil
}

// measure finds out how long tickets of tasks take, of those assets. A reopened one began long before its run.
func (c *candidates) measure(ctx context.Context, assets map[string]*redis.StringSliceCmd) error {
	took := map[string][]*redis.SliceCmd{}
	err := c.s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for task, some := range assets {
			for _, asset := range some.Val() {
				took[task] = append(took[task], pipe.HMGet(ctx, c.s.Keys.Ticket(ID(Asset(asset), task)), "created_at", "updated_at", "run"))
			}
		}
	})
	if err != nil {
		return err
	}
	for task := range assets {
		var times []time.Duration
		for _, answer := range took[task] {
			if v := textsOf(answer.Val()); len(v) == 3 && v[2] == "1" {
				times = append(times, millis(v[1]).Sub(millis(v[0])))
			}
		}
		c.times[task] = 0
		if slices.Sort(times); len(times) > 0 {
			c.times[task] = times[len(times)/2]
		}
	}
	return nil
}
