// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
)

const (
	followFirst = 100 * time.Millisecond // before a call is repeated; doubles, up to
	followMost  = 5 * time.Second
)

// errUnavailable says that the daemon or Redis was away for longer than followFor.
var errUnavailable = errors.New("a call was repeated for " + plain.About(lease.FollowFor))

// call makes one call, and notes whether it found who answers.
func (a *Agent) call(ctx context.Context, call func(context.Context) error) error {
	err := lease.Call(ctx, call)
	a.outage.note(a.options.Log, err)
	return err
}

// follow makes a call again, with backoff, as long as it fails for a reason that passes. The daemon answers what it has done
// already as replayed.
func (a *Agent) follow(ctx context.Context, call func(context.Context) error) error {
	start := time.Now()
	for n := 0; ; n++ {
		err := a.call(ctx, call)
		if !lease.Transient(err) {
			return err
		}
		if time.Since(start) > lease.FollowFor {
			return fmt.Errorf("%s: %w: %w", cmp.Or(lease.Away(err), "the daemon takes nothing"), errUnavailable, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again.Backoff(n+1, followFirst, followMost)):
		}
	}
}
