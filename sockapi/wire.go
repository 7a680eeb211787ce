// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

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
		MarginMS:  c.Margin.Milliseconds(),
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

func wireNext(next []store.Next) []client.Next {
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

func wireHolder(h *store.Holder) *client.Holder {
	if h == nil {
		return nil
	}
	return &client.Holder{
		Host: h.Host, PID: h.PID, UID: h.UID, Task: h.Task, Since: h.Since.UTC(), RemainingMS: h.Remaining.Milliseconds(),
		Next: strings.Fields(h.Next),
	}
}

func wireEvents(events []store.Event) []client.Event {
	wire := make([]client.Event, len(events))
	for i, e := range events {
		wire[i] = client.Event{
			Seq: e.Seq, At: e.At.UTC(), Event: e.Event, From: string(e.From), To: string(e.To), Step: e.Step, Token: e.Token,
			Host: e.Host, Agent: e.Agent, Reason: e.Reason, Facts: e.Facts, Count: e.Count,
		}
	}
	return wire
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func wireIntent(in outbox.Intent) client.Intent {
	wire := client.Intent{
		ID: in.ID, Ticket: in.Ticket, Asset: in.Asset, Task: in.Task, Run: in.Run, Key: in.Key, Status: string(in.Origin),
		CreatedAt: in.At.UTC(), Channels: make(map[string]client.IntentDelivery, len(in.Channels)),
	}
	for name, d := range in.Channels {
		one := client.IntentDelivery{
			Type: d.Type, Status: string(d.Status), Attempts: d.Attempts, At: timeOrNull(d.At), Error: d.Error,
		}
		if !d.Status.Settled() {
			one.Due = timeOrNull(d.Due)
		}
		wire.Channels[name] = one
	}
	return wire
}

// wireContent is an intent's content as it stands in the outbox; nil when that has none.
func wireContent(content []byte) *client.Notification {
	var n client.Notification
	if err := json.Unmarshal(content, &n); err != nil {
		return nil
	}
	n.Facts = nil
	return &n
}
