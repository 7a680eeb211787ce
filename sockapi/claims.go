// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

func postClaim(c *call, _ noInput, b client.ClaimRequest) (answer, error) {
	asset, err := store.ParseAsset(b.Asset)
	if err != nil {
		return answer{}, err
	}
	c.told.Asset, c.told.Task = string(asset), b.Task
	res, err := c.api.Engine.Claim(c.request.Context(), engine.ClaimRequest{
		Asset:     asset,
		Task:      b.Task,
		Flow:      b.Flow,
		Wait:      duration(b.Wait),
		PID:       b.PID,
		Heartbeat: duration(b.Heartbeat),
		MaxHold:   duration(b.MaxHold),
		Request:   b.Request,
		Peer:      c.peer,
	})
	if err != nil {
		return answer{}, err
	}
	granted := besideClaim{Next: wireNext(res.Next)}
	a := answer{status: http.StatusOK, body: &ticketBody{res.Ticket, &granted}}
	if res.Claim != nil {
		a.status = http.StatusCreated
		held := wireClaim(*res.Claim)
		granted.Claim = &held
	}
	return a, nil
}

// besideClaim is what a client.ClaimResponse has beside the ticket.
type besideClaim struct {
	Claim *client.Claim `json:"claim"`
	Next  []client.Next `json:"next"`
}

func listClaims(c *call, _, _ noInput) (answer, error) {
	claims := c.api.Engine.Claims(c.peer.Owner())
	list := client.ClaimList{Claims: make([]client.Claim, len(claims))}
	for i, one := range claims {
		list.Claims[i] = wireClaim(one)
	}
	return answer{status: http.StatusOK, body: &list}, nil
}

// waitQuery is the query of a call that may wait.
type waitQuery struct {
	Wait string `json:"wait,omitempty" form:"duration" max:"10m" doc:"How long to wait, at most 10m."`
}

func getClaim(c *call, q waitQuery, _ noInput) (answer, error) {
	if q.Wait == "" {
		return claimAnswer(c.api.Engine.GetClaim(c.id, c.peer.Owner()))
	}
	ctx, stop := c.untilDrained()
	defer stop()
	got, err := c.api.Engine.WatchClaim(ctx, c.id, c.peer.Owner(), duration(q.Wait))
	if err != nil && errors.Is(context.Cause(ctx), engine.ErrDraining) {
		err = engine.ErrDraining
	}
	return claimAnswer(got, err)
}

func postHeartbeat(c *call, _ noInput, _ emptyBody) (answer, error) {
	return claimAnswer(c.api.Engine.Heartbeat(c.request.Context(), c.id, c.peer.Owner()))
}

func claimAnswer(got engine.Claim, err error) (answer, error) {
	return answer{status: http.StatusOK, body: &client.ClaimBody{Claim: wireClaim(got)}}, err
}
