// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "time"

// Intent is an entry in this host's outbox: a notification that must go out for a ticket.
type Intent struct {
	ID        string                    `json:"id"`
	Ticket    string                    `json:"ticket"`
	Asset     string                    `json:"asset"`
	Task      string                    `json:"task"`
	Run       int64                     `json:"run"`
	Key       string                    `json:"key" doc:"The idempotency key that receivers get."`
	Status    string                    `json:"status" enum:"staged,committed,adopted,closed" doc:"staged: not sendable yet; closed: only the receipts are left."`
	CreatedAt time.Time                 `json:"created_at"`
	Channels  map[string]IntentDelivery `json:"channels"`

	Notification *Notification `json:"notification" doc:"What is told, without its facts. Null in listings, and once the intent is closed."`
}

// IntentDelivery is what this host knows of an intent on one channel.
type IntentDelivery struct {
	Type     string     `json:"type"`
	Status   string     `json:"status" enum:"pending,sending,sent,unknown,parked,dead,discarded"`
	Attempts int        `json:"attempts"`
	Due      *time.Time `json:"due" doc:"When it is tried next, or null."`
	At       *time.Time `json:"at" doc:"When it was last tried, or null."`
	Error    string     `json:"error"`
}

// IntentList answers GET /v1/outbox and GET /v1/outbox/{asset}/{task}.
type IntentList struct {
	Intents []Intent `json:"intents" doc:"Oldest first."`
	More    bool     `json:"more" doc:"Whether there are more: at most 1,000 that are not closed are listed, and 1,000 that are."`
}
