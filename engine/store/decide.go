// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

var (
	reopenScript  = newScript("reopen", "common")
	resolveScript = newScript("resolve", "common", "end_notifying")
	retryScript   = promising(newScript("retry", "common"))
	ownScript     = promising(newScript("own", "common"))
)

// Reopen begins a new run of a ticket that is terminal, or damaged and not in NOTIFYING: Gone, Illegal, Conflict when it is not what was
// seen any more, or Unmark was too long ago. by.Token and by.Nonce are for a grant that nobody holds.
func (s *Store) Reopen(ctx context.Context, id TicketID, by Writer, seen Snapshot, until time.Time, why string) (Written, error) {
	return s.writeTicket(ctx, reopenScript, id, by, "", audit.Event{Kind: audit.Reopened, Agent: by.Agent, Reason: why},
		s.c.KeepGrants.Milliseconds(), why, string(flowOf(id.Asset).Initial), seen.Hash["revision"], flag(seen.Damaged()), until.UnixMilli())
}

// Resolution is what an administrator says became of channels.
type Resolution struct {
	Request  string // an id
	Status   outbox.Status
	Channels []string
	Question []outbox.Status // only channels in one of these are decided about
	Intent   string          // the ticket's when it was decided
	Reason   string
}

// Resolve decides about channels: Gone, Illegal, Conflict when none of them is in question any more, Mismatch when another intent came
// between.
func (s *Store) Resolve(ctx context.Context, id TicketID, by Writer, r Resolution, told audit.Event) (Written, error) {
	return s.writeTicket(ctx, resolveScript, id, by, "", told, r.Request, string(r.Status), r.Reason, set(r.Channels), set(r.Question), r.Intent)
}

// Retrial is a new intent in the place of a ticket's.
type Retrial struct {
	Intent, Before string
	Daemon         string   // that answers for it
	Again          []string // channels that are pending again
	Once           []string // unsettled ones that are at_most_once
	Reason         string
}

// Retry puts a new intent in the place of the ticket's: Gone, Illegal, Conflict when another came between, or all of
// its channels were settled.
func (s *Store) Retry(ctx context.Context, id TicketID, by Writer, r Retrial, told audit.Event) (Written, error) {
	return s.writeTicket(ctx, retryScript, id, by, "", told, r.Intent, r.Daemon, r.Before, r.Reason, set(r.Again), set(r.Once))
}

// Own gives a ticket in NOTIFYING another daemon that answers for it, if it still has the one and the intent that it is known to have.
func (s *Store) Own(ctx context.Context, id TicketID, intent, from, to, why string) (bool, error) {
	r, err := s.write(ctx, ownScript, id, Writer{Agent: deliverer}, "", audit.Event{Kind: audit.Inherited, Reason: why}, tellOwn, from, to, intent)
	return err == nil && r.code == OK, err
}

func tellOwn(r reply, a *audit.Event) {
	a.From, a.To = string(Notifying), string(Notifying)
	if r.code != OK {
		a.Kind = ""
	}
}
