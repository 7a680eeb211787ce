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

// ResolveRequest is the body of what an administrator says about a notification.
type ResolveRequest struct {
	Reason  string `json:"reason" form:"text" minLength:"1" maxLength:"4096" doc:"Why, for the history. At most 4 KiB."`
	Channel string `json:"channel,omitempty" minLength:"1" maxLength:"64" doc:"One channel. Defaults to all that are in question."`
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
	path := "/v1/tickets/" + url.PathEscape(asset) + "/" + url.PathEscape(task) + "/reopen"
	t, err := ask[TicketBody](ctx, c, http.MethodPost, path, ReasonRequest{reason})
	return t.Ticket, err
}

// Retry sends a notification once more, from this host, on channels that are dead, parked or unknown; on one, or with channel empty
// on all of them. It is an admin call.
func (c *Client) Retry(ctx context.Context, asset, task, channel, reason string) (Ticket, error) {
	return c.resolve(ctx, asset, task, "retry", channel, reason)
}

// Discard gives channels of a notification up, on every host. It is an admin call.
func (c *Client) Discard(ctx context.Context, asset, task, channel, reason string) (Ticket, error) {
	return c.resolve(ctx, asset, task, "discard", channel, reason)
}

// Settle records that a notification did arrive on channels whose outcome is unknown. It is an admin call.
func (c *Client) Settle(ctx context.Context, asset, task, channel, reason string) (Ticket, error) {
	return c.resolve(ctx, asset, task, "settle", channel, reason)
}

func (c *Client) resolve(ctx context.Context, asset, task, what, channel, reason string) (Ticket, error) {
	path := "/v1/outbox/" + url.PathEscape(asset) + "/" + url.PathEscape(task) + "/" + what
	t, err := ask[TicketBody](ctx, c, http.MethodPost, path, ResolveRequest{reason, channel})
	return t.Ticket, err
}
