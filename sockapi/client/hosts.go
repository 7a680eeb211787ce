// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// HostList answers GET /v1/hosts.
type HostList struct {
	Hosts []Host `json:"hosts" doc:"By label. One that is gone, and answers for nothing, is shown for a day."`
}

// Host is a daemon of the fleet, as it told last.
type Host struct {
	ID        string     `json:"id" doc:"The daemon's identity, that of its outbox."`
	Host      string     `json:"host" doc:"Its label; empty when nothing is known of it."`
	Version   string     `json:"version"`
	Layout    string     `json:"layout" doc:"The number of what its version writes in Redis; empty when it told none. Where another one stands, it touches nothing, and gives no sign of life."`
	Since     *time.Time `json:"since" doc:"When its run began, or null."`
	SignedAt  *time.Time `json:"signed_at" doc:"Its last sign of life, by Redis' clock, or null."`
	Alive     bool       `json:"alive" doc:"It gave a sign of life in the last 25 s."`
	Claims    int        `json:"claims" doc:"Claims that are held there."`
	Pending   int        `json:"pending" doc:"Notifications that its outbox has to send."`
	Parked    int        `json:"parked" doc:"Of its notifications, those that wait for a person; counted every 5 min, to 1,000."`
	Dead      int        `json:"dead" doc:"Those that were given up on a channel, about which nobody has decided; counted every 5 min, to 1,000."`
	LockTTLMS int64      `json:"lock_ttl_ms"`
	Channels  []string   `json:"channels" doc:"NAME:TYPE each."`
	Warnings  []Warning  `json:"warnings" doc:"Its own, and how it differs from the other hosts."`
}

// Hosts lists the daemons of the fleet.
func (c *Client) Hosts(ctx context.Context) (HostList, error) {
	return ask[HostList](ctx, c, http.MethodGet, "/v1/hosts", nil)
}

// RetireResponse answers POST /v1/hosts/{host}/retire.
type RetireResponse struct {
	Host    Host `json:"host" doc:"As it was known last. What no other daemon can know is in its outbox alone: receipts that its tickets lack, whose notifications may be sent again under the same key, and accepted notifications whose tickets Redis has lost. Of pending ones that are neither taken nor offered, that may be so."`
	Taken   int  `json:"taken" doc:"Tickets that it answered for, and this daemon does now, or that were done."`
	Offered int  `json:"offered" doc:"Those that this daemon cannot deliver on every channel: they are offered to the others."`
}

// Retire has a host leave that is gone for good. It is an admin call.
func (c *Client) Retire(ctx context.Context, id, reason string) (RetireResponse, error) {
	return ask[RetireResponse](ctx, c, http.MethodPost, "/v1/hosts/"+url.PathEscape(id)+"/retire", ReasonRequest{reason})
}
