// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"

	"github.com/picketd/picket/agent/assets"
)

// Run takes the assets through the flow, several at a time, in an order of chance, so that several hosts with the same list
// share it. When stopping closes, running assets finish their step and no others are begun. When ctx is done, what runs is
// ended at once. It returns when everything is settled, given up or stopped, with Held and Stopped as what is left. The bad
// lines of the list are reported first and count as failed. The error is a refusal that every asset would get.
//
// With a report it then waits for that, and makes it when nobody else does; Counts.Report says what became of it.
func (a *Agent) Run(ctx context.Context, stopping <-chan struct{}, list *assets.List) (Counts, error) {
	r := a.newReporter(list)
	if r == nil {
		run, err := a.runList(ctx, stopping, list)
		return run.counts, err
	}
	a.report = r
	if _, err := r.tell(ctx); err != nil { // before any asset is left to it
		a.options.Log.Warn("cannot note this run for the report yet", "report", r.asset, "error", err)
	}
	reporting, end := context.WithCancel(ctx)
	defer end()
	told := make(chan Result, 1)
	go func() { told <- r.serve(reporting, stopping) }()
	run, err := a.runList(ctx, stopping, list)
	if err != nil {
		end()
	}
	r.last = run.progress
	close(r.worked)
	result := <-told
	if err == nil {
		run.counts.Report = result.Outcome
		a.options.Report(result)
	}
	return run.counts, err
}
