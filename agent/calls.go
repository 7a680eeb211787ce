// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"

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

// claimAsset asks for an asset. From a container, where the daemon cannot tell who a pid is, the heartbeat alone is the sign
// of life; and a life of the claim that nobody has asked for is no reason to be refused. It is named, in all tries for the
// asset. sent is when the call that was answered was sent, on CLOCK_BOOTTIME.
func (a *Agent) claimAsset(ctx context.Context, e *entry) (got client.ClaimResponse, sent time.Duration, err error) {
	r := client.ClaimRequest{
		Asset: e.asset.Name, Task: a.options.Task, Flow: cmp.Or(e.flow, a.config.Flow), PID: os.Getpid(), Heartbeat: a.options.Heartbeat.String(),
		MaxHold: cmp.Or(a.options.MaxHold, a.config.longest()).String(), Request: e.name,
	}
	claim := func(ctx context.Context) (err error) {
		sent = process.Boottime()
		got, err = a.client.Claim(ctx, r)
		return err
	}
	err = a.call(ctx, claim)
	for {
		switch {
		case r.PID != 0 && client.Refuses(err, "body.pid"):
			r.PID = 0
		case r.MaxHold != "" && a.options.MaxHold == 0 && client.Refuses(err, "body.max_hold"):
			r.MaxHold = ""
		default:
			return got, sent, err
		}
		err = a.call(ctx, claim)
	}
}

// releaseTimeout bounds the release at the end; the daemon also frees the lock when it sees this process end.
const releaseTimeout = 2 * time.Second

// release lets go of a claim, on a context of its own. Where it fails, the lock's end does it; of one that is lost that is no
// wonder.
func (a *Agent) release(claim client.Claim, log *slog.Logger, lost bool) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := a.client.Release(ctx, claim.ID); err != nil && !lost {
		log.Warn("cannot release the claim", "error", err)
	}
}
