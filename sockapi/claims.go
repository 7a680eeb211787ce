// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

func claim(s *Server, c *call, _ none, b client.ClaimRequest) (answer, error) {
	asset, err := engine.ParseAsset(b.Asset)
	if err != nil {
		return answer{}, err
	}
	c.told.Asset, c.told.Task = string(asset), b.Task
	res, err := s.engine.Claim(c.request.Context(), engine.ClaimRequest{
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
	granted := claimed{Next: wireNext(res.Next)}
	a := answer{status: http.StatusOK, body: &ticketBody{res.Ticket, &granted}}
	if res.Claim != nil {
		a.status = http.StatusCreated
		held := wireClaim(*res.Claim)
		granted.Claim = &held
	}
	return a, nil
}

// claimed is what a client.ClaimResponse has beside the ticket.
type claimed struct {
	Claim *client.Claim `json:"claim"`
	Next  []client.Next `json:"next"`
}

func listClaims(s *Server, c *call, _, _ none) (answer, error) {
	if err := Weigh(c.request.Context(), listWeight); err != nil {
		return answer{}, err
	}
	claims := s.engine.Claims(c.peer.Owner())
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

func getClaim(s *Server, c *call, q waitQuery, _ none) (answer, error) {
	if q.Wait == "" {
		return claimAnswer(s.engine.GetClaim(c.id, c.peer.Owner()))
	}
	ctx, stop := s.untilDrained(c.request.Context())
	defer stop()
	got, err := s.engine.WatchClaim(ctx, c.id, c.peer.Owner(), duration(q.Wait))
	if err != nil && errors.Is(context.Cause(ctx), engine.ErrDraining) {
		err = engine.ErrDraining
	}
	return claimAnswer(got, err)
}

func heartbeat(s *Server, c *call, _ none, _ empty) (answer, error) {
	return claimAnswer(s.engine.Heartbeat(c.request.Context(), c.id, c.peer.Owner()))
}

func claimAnswer(got engine.Claim, err error) (answer, error) {
	return answer{status: http.StatusOK, body: &client.ClaimBody{Claim: wireClaim(got)}}, err
}

func wireClaim(c engine.Claim) client.Claim {
	wire := client.Claim{
		ID:        c.ID,
		Token:     c.Token,
		Asset:     string(c.Ticket.Asset),
		Task:      c.Ticket.Task,
		Ticket:    c.Ticket.String(),
		Status:    string(c.Status),
		TrustedMS: c.Trusted.Milliseconds(),
		Since:     c.Since.UTC(),
		UID:       c.UID,
		MaxHoldMS: c.MaxHold.Milliseconds(),
	}
	if c.Reason != "" {
		reason := string(c.Reason)
		wire.Reason = &reason
	}
	if c.PID != 0 {
		wire.PID = &c.PID
	}
	if c.Heartbeat != 0 {
		ms := c.Heartbeat.Milliseconds()
		wire.HeartbeatMS = &ms
	}
	return wire
}

func wireNext(next []engine.Next) []client.Next {
	wire := make([]client.Next, len(next))
	for i, n := range next {
		states := make([]string, len(n.States))
		for j, s := range n.States {
			states[j] = string(s)
		}
		wire[i] = client.Next{Step: n.Step, States: states}
	}
	return wire
}

func wireHolder(h *engine.Holder) *client.Holder {
	if h == nil {
		return nil
	}
	return &client.Holder{
		Host: h.Host, PID: h.PID, UID: h.UID, Task: h.Task, Since: h.Since.UTC(), RemainingMS: h.Remaining.Milliseconds(),
	}
}
