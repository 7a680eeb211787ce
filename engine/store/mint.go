// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"

	"github.com/picketd/picket/audit"
)

var mintScript = promising(newScript("mint", "common"))

// Minted is a grant.
type Minted struct {
	Code  Code // OK, Gone: the lock is not the claim's, Mismatch, Terminal
	Hash       // the ticket, with OK and Terminal
	Token int64
}

// Mint makes the grant of a claim whose lock was just taken, with a token above by.Token, and the ticket, if it is new.
func (s *Store) Mint(ctx context.Context, id TicketID, by Writer, flow *Flow) (Minted, error) {
	r, err := s.write(ctx, mintScript, id, by, "", audit.Event{Kind: audit.Claimed}, tellMint,
		flow.Name, string(flow.Initial), s.c.KeepGrants.Milliseconds())
	if r.code == OK && !errors.Is(err, ErrNoAnswer) {
		s.tellBefore(id, r)
	}
	return Minted{r.code, r.hash(0), r.number(2)}, err
}

func tellMint(r reply, a *audit.Event) {
	tellTicket(r, a)
	a.Token = r.number(2)
}

// tellBefore records what a mint did to the claim before it: one that ended by expiry, where no script runs by itself.
func (s *Store) tellBefore(id TicketID, r reply) {
	before := audit.Event{Asset: string(id.Asset), Task: r.text(3)}
	if token := r.text(4); token != "" {
		told := before
		told.Kind, told.Token, told.Host, told.Agent, told.Reason = audit.Lost, number(token), r.text(5), r.text(6), "expired: found by the next claim"
		s.c.Audit(told)
	}
	if r.text(7) == "1" {
		told := before
		told.Kind, told.Token, told.From, told.To, told.Reason = audit.Finished, r.number(2), string(Notified), string(Finished), idleReason
		s.c.Audit(told)
	}
}
