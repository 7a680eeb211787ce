// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
)

const (
	mostRisks   = 100 // hosts at high risk that are listed at the end; each was shown before, too
	mostReasons = 20  // of failures
	mostUnused  = 20  // accepted risks
	mostColumns = 240 // of a line: what failed stands whole where it was shown first
)

// runLists gather, for the end of a run, who is at high risk, and what failed or is left, by reason.
type runLists struct {
	risks     []agent.Result // the first of them
	moreRisks int
	failed    report.Reasons
	left      report.Reasons
}

func (l *runLists) add(r agent.Result) {
	switch {
	case !r.HighRisk:
	case len(l.risks) < mostRisks:
		l.risks = append(l.risks, r)
	default:
		l.moreRisks++
	}
	switch r.Outcome {
	case agent.Failed:
		l.failed.Add(r.Asset, r.Error)
	case agent.Held:
		l.left.Add(r.Asset, r.Error)
	}
}

// unused names the accepted risks that met no finding of the assets that this run assessed, if it went over a list.
func (o *runOutput) unused(risks []string, assets int) {
	if o.single || len(risks) == 0 {
		return
	}
	fmt.Fprintf(o.errs, "%spicket: %s met no finding of the %s that this run assessed: %s\n", priority(journal.PriWarning),
		plain.Count(len(risks), "accepted risk", "accepted risks"), plain.Count(assets, "asset", "assets"), clean(verdict.BriefList(risks, mostUnused)))
}

// lines are the lists for people, each below a title.
func (l *runLists) lines() []string {
	var lines []string
	if n := len(l.risks) + l.moreRisks; n > 0 {
		lines = append(lines, fmt.Sprintf("%d at high risk:", n))
		for _, r := range l.risks {
			lines = append(lines, "  "+r.Asset+": "+strings.TrimPrefix(cmp.Or(r.Summary, r.State), "high risk: "))
		}
		if l.moreRisks > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more", l.moreRisks))
		}
	}
	lines = append(lines, reasonLines(l.failed, "failed")...)
	return append(lines, reasonLines(l.left, "not done")...)
}

// reasonLines are the most frequent reasons, below how many assets are concerned.
func reasonLines(s report.Reasons, title string) []string {
	if s.Count == 0 {
		return nil
	}
	all := s.Sorted()
	lines := []string{fmt.Sprintf("%d %s:", s.Count, title)}
	for _, one := range all[:min(mostReasons, len(all))] {
		lines = append(lines, "  "+one.Text, "    "+one.Names())
	}
	if more := len(all) - mostReasons; more > 0 {
		lines = append(lines, "  and "+plain.Count(more, "other reason", "other reasons"))
	}
	return lines
}
