// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"

	"github.com/picketd/picket/engine/store"
)

// screen reads a ticket that is light; of another it says how large it is.
func (e *Engine) screen(ctx context.Context, id store.TicketID) (store.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	return e.store.ReadUpTo(ctx, id, light)
}

// Ticket reads a ticket without a lock. Errors: ErrTicketNotFound, ErrTicketDamaged beside what there is, ErrUnavailable.
func (e *Engine) Ticket(ctx context.Context, id store.TicketID) (store.Ticket, error) {
	s, err := e.screen(ctx, id)
	if err == nil && s.Big {
		if err = e.weigh(ctx, s.Size); err == nil {
			ctx, cancel := context.WithTimeout(ctx, e.allowance())
			defer cancel()
			s, err = e.store.Read(ctx, id)
		}
	}
	if err != nil {
		return store.Ticket{}, err
	}
	return s.Ticket(id)
}

// Tickets lists tickets, the one written last first, without facts: see store.Tickets. A cursor that it did not make is an
// *InvalidError.
func (e *Engine) Tickets(ctx context.Context, q store.TicketQuery) (store.TicketPage, error) {
	return list(ctx, e, func(ctx context.Context) (store.TicketPage, error) { return e.store.Tickets(ctx, q) })
}

// Tasks lists tasks, the one written to last first: see store.Tasks. Errors as of Tickets.
func (e *Engine) Tasks(ctx context.Context, limit int, cursor string) (store.TaskPage, error) {
	return list(ctx, e, func(ctx context.Context) (store.TaskPage, error) { return e.store.Tasks(ctx, limit, cursor) })
}

// Task reads how far a task is, and whether some of its tickets may be missing: see store.Task.
func (e *Engine) Task(ctx context.Context, task string) (t store.Task, incomplete bool, err error) {
	return e.store.Task(ctx, task)
}

// NewRisks counts how many of a task's high risks are new: see store.NewRisks.
func (e *Engine) NewRisks(ctx context.Context, task string) (fresh, compared int64, err error) {
	return e.store.NewRisks(ctx, task)
}

func list[T any](ctx context.Context, e *Engine, read func(context.Context) (T, error)) (page T, err error) {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	if err := e.weigh(ctx, store.ListWeight); err != nil {
		return page, err
	}
	page, err = read(ctx)
	if errors.Is(err, store.ErrInvalidCursor) {
		err = &InvalidError{"cursor", err.Error()}
	}
	return page, err
}

// States reads how far tickets are, in their order: see store.States.
func (e *Engine) States(ctx context.Context, ids []store.TicketID) ([]store.Stand, error) {
	if err := e.weigh(ctx, int64(len(ids))<<9); err != nil { // with the answer
		return nil, err
	}
	return e.store.States(ctx, ids)
}

// Chunk reads which of some tickets of one task are not done yet: see store.Chunk.
func (e *Engine) Chunk(ctx context.Context, task string, of []store.Asset) (store.Chunk, error) {
	if err := e.weigh(ctx, int64(len(of))<<9); err != nil {
		return store.Chunk{}, err
	}
	return e.store.Chunk(ctx, task, of, e.lookout.Standing())
}

// NoteList notes a list that is worked on under a task: see store.NoteList.
func (e *Engine) NoteList(ctx context.Context, task, digest string, total int) (map[string]int, error) {
	return e.store.NoteList(ctx, task, digest, total)
}

// NoteReport notes a run for a report: see store.NoteReport. A report that has as many lists or runs as it may have is an *InvalidError.
func (e *Engine) NoteReport(ctx context.Context, n store.ReportNote) (store.Report, error) {
	r, err := e.store.NoteReport(ctx, n)
	switch {
	case errors.Is(err, store.ErrReportLists):
		err = &InvalidError{"list", "is one more than the 64 that a report can have: give it another name"}
	case errors.Is(err, store.ErrReportRuns):
		err = &InvalidError{"run", "is one more than the 1000 that may be at work for a report: try again when others have ended"}
	}
	return r, err
}

// PutPart keeps a part of a list: see store.PutPart.
func (e *Engine) PutPart(ctx context.Context, digest string, part int, of []store.Asset) error {
	return e.store.PutPart(ctx, digest, part, of)
}

// Part reads a part of a list: see store.Part.
func (e *Engine) Part(ctx context.Context, digest string, part int) ([]store.Asset, error) {
	if err := e.weigh(ctx, store.ListPart<<9); err != nil { // with the answer
		return nil, err
	}
	return e.store.Part(ctx, digest, part)
}

// History reads a ticket's accepted writes, oldest first, and its refused ones.
func (e *Engine) History(ctx context.Context, id store.TicketID) (events, refused []store.Event, err error) {
	events = []store.Event{}
	refused, err = e.EachEvent(ctx, id, func(page []store.Event) error {
		events = append(events, page...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return events, refused, nil
}

// EachEvent hands a ticket's accepted writes over page by page, oldest first, and returns the refused ones. Without a ticket it is an
// ErrTicketNotFound. What each returns ends it, and is returned.
func (e *Engine) EachEvent(ctx context.Context, id store.TicketID, each func(page []store.Event) error) (refused []store.Event, err error) {
	if err := e.weigh(ctx, store.HistoryWeight); err != nil {
		return nil, err
	}
	return e.store.EachEvent(ctx, id, each)
}
