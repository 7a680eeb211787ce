// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// intel asks the catalogues about every finding.
func (j *job) intel(ctx context.Context) (verdict.Record, error) {
	if j.a.plan.intel != nil {
		out, err := j.ownResult(ctx, j.a.plan.intel, j.a.config.Step.Intel.OKExit)
		if err == nil {
			if _, err = verdict.ReadIntelFacts(out.Facts); err != nil {
				err = fmt.Errorf("its facts cannot be used: %w", err)
			}
		}
		return out, err
	}
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		return verdict.Record{}, err
	}
	k := j.a.files.intel.current()
	if err := k.check(j.a.config.Step.Intel, time.Now()); err != nil {
		return verdict.Record{}, err
	}
	f := verdict.IntelFacts{KEVIDs: []string{}, Old: k.old, Unchecked: &e.Unlisted}
	if k.kev != nil {
		f.KEVDate = k.kev.Date().Format(time.DateOnly)
	}
	if k.epss != nil {
		f.EPSSDate = k.epss.Date().Format(time.DateOnly)
	}
	all := slices.Clone(e.Findings)
	for i := range all {
		for _, id := range all[i].CVEs() {
			exploited, score := k.ask(&f, id)
			all[i].KEV, all[i].EPSS = all[i].KEV || exploited, max(all[i].EPSS, score)
		}
	}
	f.Findings, f.Omitted = verdict.Fitting(all, verdict.MaxAnnotated)
	for _, one := range all[len(f.Findings):] {
		f.Lack(one.KEV, one.EPSS)
	}
	for _, id := range e.Omitted {
		f.Lack(k.ask(&f, id))
	}
	facts, err := plain.JSON(f)
	return verdict.Record{State: client.StateVulnCheckDone, Facts: facts, Summary: f.Sentence()}, err
}
