// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"io"
	"net/http"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

func getTicket(s *Server, c *call, _, _ none) (answer, error) {
	return ticketAnswer(s.engine.Ticket(c.request.Context(), c.ticket))
}

func ticketAnswer(t engine.Ticket, err error) (answer, error) {
	return answer{status: http.StatusOK, body: &ticketBody{ticket: t}}, err
}

func getHistory(s *Server, c *call, _, _ none) (answer, error) {
	return answer{status: http.StatusOK, stream: func(w io.Writer) error {
		e := encoders.Get().(*encoder)
		defer e.free()
		before := `{"events":[`
		refused, err := s.engine.EachEvent(c.request.Context(), c.ticket, func(page []engine.Event) error {
			for _, one := range wireEvents(page) {
				e.buf.WriteString(before)
				before = ","
				if err := e.json.Encode(one); err != nil {
					return err
				}
			}
			_, err := e.buf.WriteTo(w)
			return err
		})
		if err != nil {
			return err
		}
		e.buf.WriteString(`],"refused":`)
		if err := e.json.Encode(wireEvents(refused)); err != nil {
			return err
		}
		e.buf.WriteString("}\n")
		_, err = e.buf.WriteTo(w)
		return err
	}}, nil
}

// listLimit is how many tickets a page has when none is asked for.
const listLimit = 100

type ticketsQuery struct {
	Asset  string `json:"asset,omitempty" form:"asset" doc:"Only this asset's."`
	State  string `json:"state,omitempty" enum:"INIT,ASSET_ONLINE,ASSET_OFFLINE,VULN_CHECK_DONE,HIGH_RISK_FOUND,NOTIFYING,NOTIFIED,FINISHED,FAILED" doc:"Only those in this state."`
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
	return answer{status: http.StatusOK, body: &ticketList{tickets, cursor}}, err
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

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
