// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"

	"github.com/picketd/picket/audit"
)

var (
	releaseScript = newScript("release", "common")
	breakScript   = newScript("break", "common")
	idleScript    = newScript("idle", "common")
)

// Why a ticket is FINISHED though nobody called for it.
const idleReason = "no claim was left to finish it"

// End is how the end of a claim stands on its ticket. Nothing does if that is gone, or if another claim has come since.
type End struct {
	Recorded bool // as released or finished
	Finished bool // by a finish
}

// Release ends a claim as released and leaves its ticket as it is, but that NOTIFIED becomes FINISHED. One that ended before stays so.
func (s *Store) Release(ctx context.Context, id TicketID, by Writer, why string) (End, error) {
	r, err := s.end(ctx, id, by, "released", why, audit.Event{Kind: audit.Released, Reason: why})
	return End{Recorded: r.text(2) != "", Finished: r.text(2) == "finished"}, err
}

// Force ends a claim as lost, in the name of an administrator.
func (s *Store) Force(ctx context.Context, id TicketID, by Writer, admin string) error {
	_, err := s.end(ctx, id, by, "lost", "forced by "+admin, audit.Event{Kind: audit.Forced, Agent: admin})
	return err
}

// Free ends a claim as lost, for which the audit has been told why.
func (s *Store) Free(ctx context.Context, id TicketID, by Writer, why string) error {
	_, err := s.end(ctx, id, by, "lost", why, audit.Event{})
	return err
}

func (s *Store) end(ctx context.Context, id TicketID, by Writer, event, why string, told audit.Event) (reply, error) {
	told.Token = by.Token
	if told.Agent == "" {
		told.Agent = by.Agent
	}
	return s.write(ctx, releaseScript, id, by, "", told, tellRelease, event, why)
}

// tellRelease: the end of a claim is told when it comes, so that here it is told only if somebody asked for it, or if it moved the
// ticket.
func tellRelease(r reply, a *audit.Event) {
	a.From, a.To = r.text(0), r.text(1)
	switch {
	case a.Kind == audit.Released && r.text(2) == "": // it may have been lost: who asked for it tells
		a.Kind = ""
	case a.Kind == "" && a.From != a.To && State(a.To) == Finished:
		a.Kind = audit.Finished
	}
}

// Break takes the asset from the claim that held it when seen was read, by a grant that nobody holds, with a token above by.Token and
// by.Nonce. ended is the nonce of the claim that it ended, or empty.
func (s *Store) Break(ctx context.Context, a Asset, by Writer, seen Snapshot, why string) (ended string, err error) {
	r, err := s.write(ctx, breakScript, TicketID{Asset: a}, by, "", audit.Event{Kind: audit.Broken, Agent: by.Agent, Reason: why}, tellBreak,
		s.c.KeepGrants.Milliseconds(), why, seen.Grant.Nonce, seen.Lock)
	return r.text(0), err
}

func tellBreak(r reply, a *audit.Event) { a.Task, a.From, a.To = r.text(1), r.text(2), r.text(3) }

// FinishIdle finishes a ticket that stands in NOTIFIED without a claim.
func (s *Store) FinishIdle(ctx context.Context, id TicketID) error {
	_, err := s.write(ctx, idleScript, id, Writer{Agent: "walk"}, "", audit.Event{Kind: audit.Finished, Reason: idleReason}, tellIdle)
	return err
}

func tellIdle(r reply, a *audit.Event) {
	a.From, a.To = string(Notified), string(Finished)
	if r.text(0) != "1" {
		a.Kind = ""
	}
}
