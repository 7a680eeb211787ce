// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// What can become of an asset.
const (
	Done    = "done"    // its ticket is finished, or will be when its notification is delivered
	Failed  = "failed"  // a step failed, or its ticket is FAILED, or its line is none
	Held    = "held"    // another has it, or it is to be tried later or elsewhere, and there was no more time for that
	Stopped = "stopped" // the run was ended before it was done
)

// Result is what became of one asset. It is printed as a line of JSON, and that is its contract.
type Result struct {
	Asset    string `json:"asset"` // of a line that is no asset, what stands there
	Task     string `json:"task"`
	Ticket   string `json:"ticket"` // empty when there is none
	Outcome  string `json:"outcome"`
	State    string `json:"state"`   // of the ticket
	Skipped  bool   `json:"skipped"` // it was terminal already
	HighRisk bool   `json:"high_risk"`
	Told     bool   `json:"told"`    // somebody has got this ticket's notification: there is a receipt
	ToldBy   string `json:"told_by"` // the earlier ticket that told the same
	Summary  string `json:"summary"`
	Error    string `json:"error"`
	Line     int    `json:"line,omitempty"` // of the list, of one that is no asset
	MS       int64  `json:"duration_ms"`    // of the work on it here
}

// describe fills in what a ticket tells.
func (r *Result) describe(t client.Ticket) {
	if t.ID == "" {
		return
	}
	r.Asset, r.Ticket, r.State, r.Summary = t.Asset, t.ID, t.State, t.Summary
	assess := t.Steps[client.StepAssess]
	r.Summary = cmp.Or(r.Summary, assess.Summary)
	var f verdict.AssessFacts
	_ = json.Unmarshal(assess.Facts, &f) // a command's may be of another form
	r.HighRisk = t.HighRisk != nil && *t.HighRisk
	r.Told = verdict.WasTold(t)
	if f.ToldBy != nil {
		r.ToldBy = f.ToldBy.Ticket
	}
	if t.State == client.StateFailed {
		r.Error = plain.Line("the ticket is FAILED: "+verdict.WhyFailed(t), 0)
	}
}

// badResult is what became of a line that is no asset.
func badResult(b assets.BadLine, task string) Result {
	return Result{Asset: b.Text, Task: task, Outcome: Failed, Error: fmt.Sprintf("line %d %s", b.Line, b.Reason), Line: b.Line}
}
