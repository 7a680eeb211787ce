// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

func getTicket(s *Server, c *call, _, _ none) (answer, error) {
	return ticketAnswer(s.engine.Ticket(c.request.Context(), c.ticket))
}

func ticketAnswer(t engine.Ticket, err error) (answer, error) {
	return answer{status: http.StatusOK, body: &client.TicketBody{Ticket: wireTicket(t)}}, err
}

func getHistory(s *Server, c *call, _, _ none) (answer, error) {
	events, refused, err := s.engine.History(c.request.Context(), c.ticket)
	return answer{status: http.StatusOK, body: &client.History{Events: wireEvents(events), Refused: wireEvents(refused)}}, err
}

// listLimit is how many tickets a page has when none is asked for.
const listLimit = 100

type ticketsQuery struct {
	Asset  string `json:"asset,omitempty" form:"asset" doc:"Only this asset's."`
	State  string `json:"state,omitempty" minLength:"1" maxLength:"64" doc:"Only those in this state."`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"How many at most. Defaults to 100."`
	Cursor string `json:"cursor,omitempty" minLength:"1" maxLength:"1024" doc:"That of the page before."`
}

func listTickets(s *Server, c *call, q ticketsQuery, _ none) (answer, error) {
	query := engine.TicketQuery{State: engine.State(q.State), Limit: listLimit, Cursor: q.Cursor}
	if q.Limit != 0 {
		query.Limit = q.Limit
	}
	if q.Asset != "" {
		var err error
		if query.Asset, err = engine.ParseAsset(q.Asset); err != nil {
			return answer{}, err
		}
	}
	tickets, cursor, err := s.engine.Tickets(c.request.Context(), query)
	list := client.TicketList{Tickets: make([]client.Ticket, len(tickets)), Cursor: cursor}
	for i, t := range tickets {
		list.Tickets[i] = listedTicket(t)
	}
	return answer{status: http.StatusOK, body: &list}, err
}

// wireTicket is a ticket as it is answered by itself: facts that were not given are an empty object.
func wireTicket(t engine.Ticket) client.Ticket {
	wire := listedTicket(t)
	for name, s := range t.Steps {
		step := wire.Steps[name]
		step.Facts = factsOf(s.Facts)
		wire.Steps[name] = step
	}
	if t.Notification != nil {
		wire.Notification.Facts = factsOf(t.Notification.Facts)
	}
	return wire
}

// listedTicket is a ticket as it stands in a listing, without facts.
func listedTicket(t engine.Ticket) client.Ticket {
	wire := client.Ticket{
		ID:        t.ID.String(),
		Asset:     string(t.ID.Asset),
		Task:      t.ID.Task,
		Flow:      t.Flow,
		State:     string(t.State),
		Token:     t.Token,
		Run:       t.Run,
		Revision:  t.Revision,
		Steps:     make(map[string]client.Step, len(t.Steps)),
		Delivery:  make(map[string]client.Delivery, len(t.Delivery)),
		Holder:    wireHolder(t.Holder),
		Summary:   t.Summary,
		CreatedAt: t.CreatedAt.UTC(),
		UpdatedAt: t.UpdatedAt.UTC(),
	}
	for name, s := range t.Steps {
		wire.Steps[name] = client.Step{
			State: string(s.State), Summary: s.Summary, Token: s.Token, Host: s.Host, At: s.At.UTC(),
		}
	}
	if f := t.Failure; f != nil {
		wire.Failure = &client.Failure{Step: f.Step, Error: f.Error, Count: f.Count, Final: f.Final, At: f.At.UTC()}
	}
	if n := t.Notification; n != nil {
		wire.Notification = &client.Notification{
			Title: n.Title, Text: n.Text, Severity: n.Severity, Channels: append([]string{}, n.Channels...), At: n.At.UTC(),
		}
	}
	for channel, d := range t.Delivery {
		wire.Delivery[channel] = client.Delivery{
			Status: string(d.Status), Attempts: d.Attempts, At: timeOrNull(d.At), Host: d.Host, Error: d.Error,
		}
	}
	return wire
}

func wireEvents(events []engine.Event) []client.Event {
	wire := make([]client.Event, len(events))
	for i, e := range events {
		wire[i] = client.Event{
			Seq: e.Seq, At: e.At.UTC(), Event: e.Event, From: string(e.From), To: string(e.To), Step: e.Step, Token: e.Token,
			Host: e.Host, Agent: e.Agent, Reason: e.Reason, Facts: e.Facts, Count: e.Count,
		}
	}
	return wire
}

var noFacts = json.RawMessage("{}")

func factsOf(facts json.RawMessage) json.RawMessage {
	if len(facts) == 0 {
		return noFacts
	}
	return facts
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
