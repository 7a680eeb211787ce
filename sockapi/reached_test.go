// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

// reached is an engine that is stopping, whatever it is asked: the call has passed all checks before it.
type reached struct{}

func (reached) Claim(context.Context, engine.ClaimRequest) (engine.ClaimResult, error) {
	return engine.ClaimResult{}, engine.ErrDraining
}

func (reached) Claims(uint32) []engine.Claim { return nil }

func (reached) GetClaim(string, uint32) (engine.Claim, error) {
	return engine.Claim{}, engine.ErrDraining
}

func (reached) WatchClaim(context.Context, string, uint32, time.Duration) (engine.Claim, error) {
	return engine.Claim{}, engine.ErrDraining
}

func (reached) Heartbeat(context.Context, string, uint32) (engine.Claim, error) {
	return engine.Claim{}, engine.ErrDraining
}

func (reached) Step(context.Context, string, uint32, engine.StepRequest) (engine.WriteResult, error) {
	return engine.WriteResult{}, engine.ErrDraining
}

func (reached) Fail(context.Context, string, uint32, engine.FailureRequest) (engine.WriteResult, error) {
	return engine.WriteResult{}, engine.ErrDraining
}

func (reached) Notify(context.Context, string, uint32, delivery.Request) (engine.WriteResult, error) {
	return engine.WriteResult{}, engine.ErrDraining
}

func (reached) Finish(context.Context, string, uint32, string) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) Release(context.Context, string, uint32) error {
	return engine.ErrDraining
}

func (reached) Ticket(context.Context, store.TicketID) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) EachEvent(context.Context, store.TicketID, func(page []store.Event) error) ([]store.Event, error) {
	return nil, engine.ErrDraining
}

func (reached) Chunk(context.Context, string, []store.Asset) (store.Chunk, error) {
	return store.Chunk{}, engine.ErrDraining
}

func (reached) NoteList(context.Context, string, string, int) (map[string]int, error) {
	return nil, engine.ErrDraining
}

func (reached) NoteReport(context.Context, store.ReportNote) (store.Report, error) {
	return store.Report{}, engine.ErrDraining
}

func (reached) PutPart(context.Context, string, int, []store.Asset) error {
	return engine.ErrDraining
}

func (reached) Part(context.Context, string, int) ([]store.Asset, error) {
	return nil, engine.ErrDraining
}

func (reached) Tickets(context.Context, store.TicketQuery) (store.TicketPage, error) {
	return store.TicketPage{}, engine.ErrDraining
}

func (reached) Tasks(context.Context, int, string) (store.TaskPage, error) {
	return store.TaskPage{}, engine.ErrDraining
}

func (reached) Task(context.Context, string) (store.Task, bool, error) {
	return store.Task{}, false, engine.ErrDraining
}

func (reached) NewRisks(context.Context, string) (int64, int64, error) {
	return 0, 0, engine.ErrDraining
}

func (reached) States(context.Context, []store.TicketID) ([]store.Stand, error) {
	return nil, engine.ErrDraining
}

func (reached) Break(context.Context, store.Asset, string, string) error {
	return engine.ErrDraining
}

func (reached) Force(context.Context, string, string) error {
	return engine.ErrDraining
}

func (reached) Reopen(context.Context, store.TicketID, string, string) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) Retry(context.Context, delivery.Resolution) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) Discard(context.Context, delivery.Resolution) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) Settle(context.Context, delivery.Resolution) (store.Ticket, error) {
	return store.Ticket{}, engine.ErrDraining
}

func (reached) Fleet(context.Context) ([]store.Member, error) {
	return nil, engine.ErrDraining
}

func (reached) Retire(context.Context, string, string, string) (store.Member, delivery.Retired, error) {
	return store.Member{}, delivery.Retired{}, engine.ErrDraining
}
