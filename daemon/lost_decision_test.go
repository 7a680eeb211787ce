// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestG10_WhatRedisLostInTheMiddleOfAnAttemptIsDecidedByAPerson: FLUSHALL comes while a message is on its way on an at_most_once channel, and
// no answer comes back. It waits for a person on this host, who has it sent once more, or settles or discards it, through the API.
func TestG10_WhatRedisLostInTheMiddleOfAnAttemptIsDecidedByAPerson(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may decide here")
	}
	type decide func(ctx context.Context, asset, task, channel, reason string) (client.Ticket, error)
	for name, c := range map[string]struct {
		decide   func(*client.Client) decide
		requests int
		status   string // of the channel, afterwards on the ticket; empty: the ticket stays lost
	}{
		"retry":   {func(c *client.Client) decide { return c.Retry }, 2, client.DeliverySent},
		"settle":  {func(c *client.Client) decide { return c.Settle }, 1, client.DeliverySent},
		"discard": {func(c *client.Client) decide { return c.Discard }, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t)
			server := redistest.Start(t)
			h := setupDelivery(t, unixAddr(server), r, once)
			r.answers(func(_ string, n int) int {
				if n == 1 {
					if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
						t.Error(err)
					}
					time.Sleep(2 * time.Duration(h.Daemon.config.Channels[0].Timeout))
				}
				return http.StatusOK
			})
			h.start(t)
			accepted(t, h.client, mustRisk(t, h.client), "first", false)
			eventually(t, "it waits for a person", func() bool {
				list, err := h.client.Outbox(t.Context(), client.DeliveryParked)
				return err == nil && len(list.Intents) == 1
			})
			list, err := h.client.OutboxTicket(t.Context(), theAsset, theTask)
			if err != nil || len(list.Intents) != 1 || list.Intents[0].Notification == nil || list.Intents[0].Notification.Title != "first" {
				t.Errorf("what is to be decided about is %+v, %v", list, err)
			}
			if _, err := c.decide(h.client)(t.Context(), theAsset, theTask, "", "looked it up"); err != nil {
				t.Fatal(err)
			}
			h.emptied(t)
			r.wantRequests(t, c.requests, "first")
			eventually(t, "the ticket tells of it", func() bool {
				ticket, err := h.client.Ticket(t.Context(), theAsset, theTask)
				if c.status == "" {
					return isCode(err, client.TicketNotFound)
				}
				return err == nil && ticket.Delivery[once].Status == c.status
			})
			if list, err := h.client.Outbox(t.Context(), client.DeliveryParked); err != nil || len(list.Intents) != 0 {
				t.Errorf("still listed: %+v, %v", list, err)
			}
		})
	}
}
