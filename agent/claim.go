// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// claimAsset asks for an asset. From a container, where the daemon cannot tell who a pid is, the heartbeat alone is the sign
// of life; and a life of the claim that nobody has asked for is no reason to be refused. request names it, in all tries for the asset.
func (a *Agent) claimAsset(ctx context.Context, asset, request string) (client.ClaimResponse, error) {
	r := client.ClaimRequest{
		Asset: asset, Task: a.options.Task, Flow: a.config.Flow, PID: os.Getpid(), Heartbeat: a.options.Heartbeat.String(),
		MaxHold: cmp.Or(a.options.MaxHold, a.config.longest()).String(), Request: request,
	}
	var got client.ClaimResponse
	claim := func(ctx context.Context) (err error) {
		got, err = a.client.Claim(ctx, r)
		return err
	}
	err := a.call(ctx, claim)
	for again := true; again; {
		again = false
		p, ok := errors.AsType[*client.Problem](err)
		switch {
		case !ok || len(p.Errors) != 1:
		case p.Errors[0].Location == "body.pid" && r.PID != 0:
			r.PID, again = 0, true
		case p.Errors[0].Location == "body.max_hold" && r.MaxHold != "" && a.options.MaxHold == 0:
			r.MaxHold, again = "", true
		}
		if again {
			err = a.call(ctx, claim)
		}
	}
	return got, err
}

// release lets go of a claim, on a context of its own. Where it fails, the lock's end does it; of one that is lost that is no
// wonder.
func (a *Agent) release(claim client.Claim, log *slog.Logger, lost bool) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := a.client.Release(ctx, claim.ID); err != nil && !lost {
		log.Warn("cannot release the claim", "error", err)
	}
}

// releaseTimeout bounds the release at the end; the daemon also frees the lock when it sees this process end.
const releaseTimeout = 2 * time.Second
