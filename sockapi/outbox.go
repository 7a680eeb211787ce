// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"slices"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// outboxLimit is how many intents of one origin are looked through for a listing.
const outboxLimit = 1000

type outboxQuery struct {
	Status string `json:"status,omitempty" enum:"staged,committed,adopted,closed,pending,sending,sent,unknown,parked,dead,discarded" doc:"Only intents in this status, or with a channel in it. Without it, those that are not closed."`
}

func listIntents(s *Server, _ *call, q outboxQuery, _ none) (answer, error) {
	var found []outbox.Intent
	for _, origin := range originsFor(q.Status) {
		some, err := s.outbox.List(origin, outboxLimit)
		if err != nil {
			s.log.Error("cannot list the outbox", "error", err)
			return answer{}, problem(client.OutboxUnavailable, "this host's outbox cannot be read; see /readyz?verbose")
		}
		found = append(found, some...)
	}
	return intentsAnswer(found, q.Status), nil
}

// originsFor says where intents of a status may be. A channel that is settled may belong to an intent that is closed.
func originsFor(status string) []outbox.Origin {
	switch origin := outbox.Origin(status); origin {
	case outbox.Staged, outbox.Committed, outbox.Adopted, outbox.Closed:
		return []outbox.Origin{origin}
	}
	if outbox.Status(status).Settled() {
		return []outbox.Origin{"", outbox.Closed}
	}
	return []outbox.Origin{""}
}

func getIntents(s *Server, c *call, q outboxQuery, _ none) (answer, error) {
	found, err := s.outbox.Ticket(c.ticket.String())
	switch {
	case err != nil:
		s.log.Error("cannot read the outbox", "error", err)
		return answer{}, problem(client.OutboxUnavailable, "this host's outbox cannot be read; see /readyz?verbose")
	case len(found) == 0:
		return answer{}, problem(client.IntentNotFound, "this host's outbox has no intent for the ticket; another host's may")
	}
	return intentsAnswer(found, q.Status), nil
}

// intentsAnswer lists intents in a status, or with a channel in it; all of them when status is empty.
func intentsAnswer(found []outbox.Intent, status string) answer {
	list := client.IntentList{Intents: []client.Intent{}}
	for _, in := range found {
		if status == "" || string(in.Origin) == status || hasChannelIn(in, outbox.Status(status)) {
			list.Intents = append(list.Intents, wireIntent(in))
		}
	}
	slices.SortStableFunc(list.Intents, func(a, b client.Intent) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return answer{status: http.StatusOK, body: &list}
}

func hasChannelIn(in outbox.Intent, status outbox.Status) bool {
	for _, d := range in.Channels {
		if d.Status == status {
			return true
		}
	}
	return false
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
