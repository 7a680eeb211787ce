// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

var errEndless = errors.New("it may wait without end")

// limited refuses commands that may wait without end.
type limited struct{}

func (limited) DialHook(next redis.DialHook) redis.DialHook { return next }

func (limited) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := ctx.Deadline(); !ok {
			return errEndless
		}
		return next(ctx, cmd)
	}
}

func (limited) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestStandsEnds: the loop that asks goes through many tickets, whose node may be away.
func TestStandsEnds(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	c.AddHook(limited{})
	if _, err := over(t, c).Stands(t.Context(), ID("a", "t")); err != nil {
		t.Error(err)
	}
}
