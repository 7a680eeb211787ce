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
	e = e.Without(verdict.AcceptedIn(out.Facts))
	report, err := j.leftTo(ctx, e)
	if err != nil {
		return out, err
	}
	if report != "" {
		return leave(out, report)
	}
	told, err := j.alreadyTold(ctx, e, out.Facts)
	if err != nil || told == nil {
		return out, err
	}
	if len(told.Open) == 0 {
		out.State = client.StateFinished
		out.Summary = plain.Cut(fmt.Sprintf("not told again: %s told it at %s; %s", told.Ticket, told.At.UTC().Format(verdict.TimeForm), out.Summary), verdict.MaxSummary)
	}
	out.Facts, err = highRisk(out.Facts, map[string]any{"told_by": told})
	return out, err
}

// highRisk adds to the facts of a step that leads elsewhere than to HIGH_RISK_FOUND that the risk is high all the same, and why.
func highRisk(facts json.RawMessage, why map[string]any) (json.RawMessage, error) {
	why["high_risk"] = true
	addition, err := plain.JSON(why)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		facts = json.RawMessage("{}")
	}
	return verdict.Merged(facts, addition)
}

// leftTo is the ticket of the report that alone tells people of the asset; empty: it is told by itself. It is only left to a report that
// has this run's list, and is not made yet. What is recorded after the report was made all the same, the next one tells.
func (j *job) leftTo(ctx context.Context, e verdict.Evidence) (ticket string, err error) {
	each := j.a.config.Notification.Each
	if j.a.report == nil || each == EachAll || each == EachCritical && (e.Critical > 0 || e.MaxCVSS >= gravest) {
		return "", nil
	}
	err = j.follow(ctx, func(ctx context.Context) (err error) {
		ticket, err = j.a.report.takes(ctx)
		return err
	})
	return ticket, err
}

// gravest is the lowest score of a critical finding, in CVSS 3.1 and 4.0.
const gravest = 9.0

// leave has the report that is that ticket tell of a high risk.
func leave(out verdict.Record, ticket string) (verdict.Record, error) {
	facts, err := highRisk(out.Facts, map[string]any{"left_to": ticket})
	return verdict.Record{State: client.StateFinished, Facts: facts, Summary: plain.Cut("left to the report "+ticket+": "+out.Summary, verdict.MaxSummary)}, err
}

// decide evaluates the configured condition.
func (j *job) decide(e verdict.Evidence) (verdict.Record, error) {
	_, skipped, err := j.needsIntel(e)
	var out verdict.Record
	if err == nil {
		accepted := j.a.files.accepted.current().Judge(j.ticket.Asset, e.Findings, j.now())
		j.a.used.Add(accepted)
		out, err = verdict.Decide(j.a.plan.highRisk, e, accepted, skipped)
	}
	if err != nil {
		return verdict.Record{}, permanent{err}
	}
	return out, nil
}
