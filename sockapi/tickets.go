// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

func getTicket(c *call, _, _ noInput) (answer, error) {
	t, err := c.api.Engine.Ticket(c.request.Context(), c.ticket)
	if errors.Is(err, store.ErrTicketDamaged) {
		err = nil // it is shown as it is
	}
	return ticketAnswer(t, err)
}

func ticketAnswer(t store.Ticket, err error) (answer, error) {
	return answer{status: http.StatusOK, body: &ticketBody{ticket: t}}, err
}

func getHistory(c *call, _, _ noInput) (answer, error) {
	return answer{status: http.StatusOK, stream: func(w io.Writer) error {
		e := encoders.Get().(*encoder)
		defer e.free()
		before := `{"events":[`
		refused, err := c.api.Engine.EachEvent(c.request.Context(), c.ticket, func(page []store.Event) error {
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

func postStates(c *call, _ noInput, r client.StatesRequest) (answer, error) {
	ids := make([]store.TicketID, len(r.IDs))
	for i, id := range r.IDs {
		ids[i], _ = store.ParseTicketID(id) // it was checked
	}
	found, err := c.api.Engine.States(c.request.Context(), ids)
	body := client.StatesResponse{States: make(map[string]*client.TicketState, len(ids))}
	for i, s := range found {
		body.States[r.IDs[i]] = nil
		if s.State != "" {
			body.States[r.IDs[i]] = &client.TicketState{State: string(s.State), Run: s.Run, Failed: s.Failed, UpdatedAt: s.UpdatedAt, Damaged: s.Damaged}
		}
	}
	return answer{status: http.StatusOK, body: &body}, err
}

// listLimit is how many entries a page has when none is asked for.
const listLimit = 100

type ticketsQuery struct {
	Asset    string `json:"asset,omitempty" form:"asset" doc:"Only this asset's, or with * at its end those whose asset begins so."`
	Exact    bool   `json:"exact,omitempty" doc:"With an asset whose own name ends in *: only this asset's."`
	Task     string `json:"task,omitempty" form:"task" doc:"Only of this task."`
	State    string `json:"state,omitempty" enum:"INIT,ASSET_ONLINE,ASSET_OFFLINE,VULN_CHECK_DONE,HIGH_RISK_FOUND,GATHERED,NOTIFYING,NOTIFIED,FINISHED,FAILED" doc:"Only those in this state."`
	Since    string `json:"since,omitempty" form:"time" doc:"Only those written to then or later; a time of RFC 3339."`
	Host     string `json:"host,omitempty" minLength:"1" maxLength:"256" doc:"Only those that are held there, were held there last, or have a step that was recorded there."`
	HighRisk bool   `json:"high_risk,omitempty" doc:"Only those with high_risk true."`
	Failed   bool   `json:"failed,omitempty" doc:"Only those with a failure, or FAILED."`
	Damaged  bool   `json:"damaged,omitempty" doc:"Only those of which Redis has lost something, as far as that was found."`
	Held     bool   `json:"held,omitempty" doc:"Only those on which a claim is held."`
	Stuck    bool   `json:"stuck,omitempty" doc:"Only those that are not terminal, have no claim, and were not written to for longer than the tickets of their task usually take, and for at least 10 minutes."`
	Limit    int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"How many at most. Defaults to 100."`
	Cursor   string `json:"cursor,omitempty" minLength:"1" maxLength:"1024" doc:"That of the page before."`
}

func listTickets(c *call, q ticketsQuery, _ noInput) (answer, error) {
	query := store.TicketQuery{
		Task: q.Task, State: store.State(q.State), Host: q.Host, HighRisk: q.HighRisk, Failed: q.Failed, Damaged: q.Damaged, Held: q.Held, Stuck: q.Stuck,
		Limit: cmp.Or(q.Limit, listLimit), Cursor: q.Cursor,
	}
	query.Since, _ = time.Parse(time.RFC3339Nano, q.Since) // it was checked
	if prefix, ok := strings.CutSuffix(q.Asset, "*"); ok && !q.Exact {
		query.Prefix = prefix
	} else if q.Asset != "" {
		var err error
		if query.Asset, err = store.ParseAsset(q.Asset); err != nil {
			return answer{}, err
		}
	}
	page, err := c.api.Engine.Tickets(c.request.Context(), query)
	return answer{status: http.StatusOK, body: &ticketList{page}}, err
}
