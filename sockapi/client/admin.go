// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"net/http"
	"net/url"
)

// ReasonRequest is the body of an admin call: why, for the history.
type ReasonRequest struct {
	Reason string `json:"reason" form:"text" minLength:"1" maxLength:"4096" doc:"Why, for the history. At most 4 KiB."`
}

// Break fences the holder of an asset off, on whatever host it is, and frees the lock. It is an admin call.
func (c *Client) Break(ctx context.Context, asset, reason string) error {
	return c.call(ctx, http.MethodPost, "/v1/locks/"+url.PathEscape(asset)+"/break", ReasonRequest{reason}, nil)
}

// Force ends a claim of this daemon that may be another's. It is an admin call.
func (c *Client) Force(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/claims/"+url.PathEscape(id)+"?force=true", nil, nil)
}

// Reopen begins a new run of a terminal ticket. It is an admin call.
func (c *Client) Reopen(ctx context.Context, asset, task, reason string) (Ticket, error) {
	var t TicketBody
	path := "/v1/tickets/" + url.PathEscape(asset) + "/" + url.PathEscape(task) + "/reopen"
	err := c.call(ctx, http.MethodPost, path, ReasonRequest{reason}, &t)
	return t.Ticket, err
}
