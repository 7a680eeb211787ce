// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// watchPause is the least time from one watch call to the next, answered or failed.
const watchPause = 50 * time.Millisecond

// sight is what the daemon last said of a claim.
type sight struct {
	deadline time.Duration // on CLOCK_BOOTTIME: until then the claim can be relied upon; zero when nothing was said
	released bool
	lost     string // the reason; empty while it is not lost
}

// look asks once. The deadline counts from when the call was sent, so that an answer which was held up does not prolong it.
func look(ctx context.Context, cl *client.Client, id string, wait time.Duration) sight {
	sent := boottime()
	claim, err := cl.WatchClaim(ctx, id, wait)
	if p, ok := errors.AsType[*client.Problem](err); ok && codeExits[p.Code] == exitLost {
		if p.Reason != "" {
			return sight{lost: p.Reason}
		}
		return sight{lost: strings.ToLower(string(p.Code))}
	}
	switch {
	case err != nil:
		return sight{} // unknown is not lost: the deadline decides
	case claim.Status == client.StatusReleased:
		return sight{released: true}
	case claim.Status == client.StatusHeld:
		return sight{deadline: sent + time.Duration(claim.TrustedMS)*time.Millisecond}
	case claim.Reason != nil:
		return sight{lost: *claim.Reason}
	}
	return sight{lost: claim.Status}
}

// watch goes on asking and hands out every sight, until ctx is done or the claim has ended. Then it closes sights.
//
// It asks for an answer within half the time that is left: the deadline counts from when a call was sent, so an answer that
// came only when the daemon had to give one would often come after the deadline of the one before.
func watch(ctx context.Context, cl *client.Client, id string, deadline time.Duration, sights chan<- sight) {
	defer close(sights)
	for {
		s := look(ctx, cl, id, max((deadline-boottime())/2, watchPause))
		select {
		case sights <- s:
		case <-ctx.Done():
			return
		}
		if s.released || s.lost != "" {
			return
		}
		if deadline = max(deadline, s.deadline); s.deadline == 0 {
			select {
			case <-time.After(watchPause):
			case <-ctx.Done():
				return
			}
		}
	}
}
