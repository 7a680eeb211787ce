// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// needsIntel says whether the catalogues are to be asked, else why not.
func (j *job) needsIntel(e verdict.Evidence) (needed bool, skipped string, err error) {
	c := j.a.config
	switch {
	case !c.hasIntel():
		return false, "none is configured", nil
	case j.a.plan.when == nil:
		return true, "", nil
	}
	needed, err = j.a.plan.when.Holds(e)
	if errors.Is(err, verdict.ErrCut) {
		return true, "", nil // to ask is never wrong
	}
	if err != nil {
		return false, "", fmt.Errorf("cannot decide whether intelligence is needed (step.intel.when): %w", err)
	}
	if !needed {
		skipped = fmt.Sprintf("%s does not hold", c.Step.Intel.When)
	}
	return needed, skipped, nil
}

// assess decides whether the risk is high, and whether people have been told of just this.
func (j *job) assess(ctx context.Context) (verdict.Record, error) {
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		return verdict.Record{}, permanent{err}
	}
	var out verdict.Record
	if j.a.plan.assess != nil {
		if out, err = j.ownResult(ctx, j.a.plan.assess, j.a.config.Step.Assess.OKExit); err == nil && out.State != client.StateHighRiskFound {
			err = verdict.Contradiction(out)
		}
	} else {
		out, err = j.decide(e)
	}
	if err != nil || out.State != client.StateHighRiskFound {
		return out, err
	}
	told, err := j.alreadyTold(ctx, e, out.Facts)
	if err != nil || told == nil {
		return out, err
	}
	if len(told.Open) == 0 {
		out.State = client.StateFinished
		out.Summary = plain.Cut(fmt.Sprintf("not told again: %s told it at %s; %s", told.Ticket, told.At.UTC().Format(verdict.TimeForm), out.Summary), verdict.MaxSummary)
	}
	addition, err := plain.JSON(map[string]any{"told_by": told, "high_risk": true})
	if err != nil {
		return verdict.Record{}, err
	}
	if out.Facts == nil {
		out.Facts = json.RawMessage("{}")
	}
	out.Facts, err = verdict.Merged(out.Facts, addition)
	return out, err
}

// decide evaluates the configured condition.
func (j *job) decide(e verdict.Evidence) (verdict.Record, error) {
	_, skipped, err := j.needsIntel(e)
	var out verdict.Record
	if err == nil {
		out, err = verdict.Decide(j.a.plan.highRisk, e, skipped)
	}
	if err != nil {
		return verdict.Record{}, permanent{err}
	}
	return out, nil
}
