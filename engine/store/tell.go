// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"

	"github.com/picketd/picket/audit"
)

// Tell hands a record over. One that is of a call gets its caller, and is the call's only one.
func (s *Store) Tell(ctx context.Context, a audit.Event) {
	audit.CallerOf(ctx).Sign(&a)
	s.c.Audit(a)
}

// teller makes of a script's reply what is recorded; a kind that is empty is not.
type teller func(r reply, a *audit.Event)

// write runs a script that writes, and has recorded what it did: once, however often it was sent. told is what is known before.
// Errors as run, but none where too few replicas do not matter.
func (s *Store) write(ctx context.Context, sc script, id TicketID, by Writer, refused string, told audit.Event, tell teller, more ...any) (reply, error) {
	r, err := s.run(ctx, sc, id, by, refused, more...)
	told.Asset, told.Task = string(id.Asset), id.Task
	var lacking *lackingError
	if err != nil && !errors.As(err, &lacking) {
		var u *UnavailableError
		if audit.CallerOf(ctx) != nil && !(errors.As(err, &u) && u.Full) {
			told.Kind, told.Reason = audit.Unconfirmed, err.Error()
			s.Tell(ctx, told)
		}
		return r, err
	}
	for ticket, stand := range r.standing(id) {
		s.stood(ticket, stand)
	}
	if tell(r, &told); told.Kind != "" {
		s.Tell(ctx, told)
	}
	if lacking != nil {
		err = s.lacking(r, told, lacking)
	}
	return r, err
}

// stood notes how a ticket stands.
func (s *Store) stood(id TicketID, is Stand) {
	s.c.Watch.Wrote(s.Keys.Ticket(id), is.Revision)
	s.Touch(id, is)
}

// Written is what a write did to a ticket.
type Written struct {
	Code     Code
	Hash             // the ticket afterwards, without its records
	Recorded Records // what the write recorded, by field and value
}

// writeTicket is write for a script that answers {code, ticket, from}.
func (s *Store) writeTicket(ctx context.Context, sc script, id TicketID, by Writer, refused string, told audit.Event, more ...any) (Written, error) {
	r, err := s.write(ctx, sc, id, by, refused, told, tellTicket, more...)
	return Written{Code: r.code, Hash: r.hash(0)}, err
}

// tellTicket is for a reply {code, ticket, from}. What a write that was refused left unchanged is for the API to tell.
func tellTicket(r reply, a *audit.Event) {
	a.From, a.To = r.text(1), r.member(0, "state")
	switch {
	case r.code == Replayed && a.From == "": // else it was this very call, whose first answer was lost
		a.Kind, a.From = audit.Replayed, a.To
	case r.code == Replayed || r.code == OK:
		if a.Token == 0 {
			a.Token = number(r.member(0, "token"))
		}
		if a.Kind == audit.Finished && State(a.To) == Notifying {
			a.Kind = audit.Released
		}
	default:
		a.Kind = ""
	}
}
