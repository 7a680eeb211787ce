// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"slices"
	"strings"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// undecided is a ChannelError for a channel as it was named, any when it is empty, none of which is in one of the statuses.
func undecided(channel string, statuses []outbox.Status) error {
	which := "none of the ticket's channels is "
	if channel != "" {
		which = "the ticket has no such channel that is "
	}
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = string(s)
	}
	return &ChannelError{which + strings.Join(words, ", ") + "; its delivery says what they are"}
}

// Resolution is what an administrator says about a notification: which ticket, which channel (empty: all in question), who (pid/uid)
// and why.
type Resolution struct {
	Ticket  store.TicketID
	Channel string
	By      string
	Reason  string
}

// about reports whether it is about a channel in this status.
func (r Resolution) about(channel string, status outbox.Status, question []outbox.Status) bool {
	return (r.Channel == "" || r.Channel == channel) && slices.Contains(question, status)
}

func (r Resolution) told(kind audit.Kind) audit.Event {
	return audit.Event{Kind: kind, Channel: r.Channel, Agent: r.By, Reason: r.Reason}
}

// The statuses in question when somebody discards, and when somebody settles or retries.
var (
	discardable = []outbox.Status{outbox.Pending, outbox.Sending, outbox.Unknown, outbox.Parked, outbox.Dead}
	settleable  = []outbox.Status{outbox.Unknown, outbox.Parked, outbox.Dead}
)

// decidable is the state of a ticket about whose notification an administrator can decide.
const decidable = "NOTIFYING, or FAILED with a channel in question"
