// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"

	"github.com/picketd/picket/engine/store"
)

// StepRequest records a step.
type StepRequest struct {
	Step    string
	State   store.State
	Facts   json.RawMessage // nil or a valid JSON object
	Summary string
	Finish  bool // the claim ends with it, which must lead to FINISHED
}

// Step records a step's result, once.
//
// Errors of all writes: ErrClaimNotFound, ErrForbidden, *LostError, ErrStaleToken, *TransitionError, ErrStoreUnavailable, and
// ErrTicketDamaged, with which the write is recorded all the same; of this one also ErrUnknownStep and ErrStepConflict.
func (e *Engine) Step(ctx context.Context, id string, uid uint32, r StepRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := c.flow.CheckStep(r.Step); err != nil {
		return WriteResult{}, err
	}
	if r.Finish && r.State != store.Finished {
		return WriteResult{}, &InvalidError{"finish", "is for a step that leads to " + string(store.Finished)}
	}
	if r.Facts == nil {
		r.Facts = json.RawMessage("{}")
	}
	w, err := e.store.Step(c.flow, c.token, r.Step, r.State, r.Facts, r.Summary)
	if err != nil {
		return WriteResult{}, &InvalidError{"facts", "must be a JSON object"}
	}
	if r.Finish {
		return e.stepAndFinish(ctx, c, r, w.AndFinish())
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	written, err := e.write(ctx, c, w)
	if err != nil {
		return WriteResult{}, err
	}
	if c.flow == store.ListReport && written.Code == store.OK {
		e.metrics.reports.gathered(c.ticket.Asset, r.Facts)
	}
	return e.written(ctx, c, written, ErrStepConflict)
}

// stepAndFinish records the step with which a claim ends. One that was recorded before may not have ended it.
func (e *Engine) stepAndFinish(ctx context.Context, c *claim, r StepRequest, w store.ClaimWrite) (WriteResult, error) {
	defer e.endCall(c)()
	recorded := func(t store.Ticket) bool { return t.Steps[r.Step].State == r.State }
	result, err := e.endBy(ctx, c, w, recorded, ErrStepConflict)
	if err == nil && result.Replayed && !c.isFinished() {
		result.Ticket, err = e.finish(ctx, c, "")
	}
	return result, err
}

// FailureRequest records a failure.
type FailureRequest struct {
	Step  string
	Error string
	Final bool
}

// Fail records that a step failed; a final one moves the ticket to FAILED. In NOTIFYING, which only delivery leaves, a final
// one is a *TransitionError.
func (e *Engine) Fail(ctx context.Context, id string, uid uint32, r FailureRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := c.flow.CheckStep(r.Step, store.NotifyCall, store.FinishCall); err != nil {
		return WriteResult{}, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	w, err := e.store.Fail(c.flow, r.Step, r.Error, r.Final)
	if err != nil {
		return WriteResult{}, err
	}
	written, err := e.write(ctx, c, w)
	if err != nil {
		return WriteResult{}, err
	}
	return e.written(ctx, c, written, nil)
}
