// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
)

const (
	mostRisks   = 100 // hosts at high risk that are listed at the end; each was shown before, too
	mostReasons = 20  // of failures
	mostNames   = 3   // assets beside a reason
	mostUnused  = 20  // accepted risks
	mostColumns = 240 // of a line: what failed stands whole where it was shown first
)

// runLists gather, for the end of a run, who is at high risk, and what failed or is left, by reason.
type runLists struct {
	risks     []agent.Result // the first of them
	moreRisks int
	failed    reasons
	left      reasons
}

// reasons are results by what kept them from being done: what their error says, but for what varies.
type reasons map[string]*alike

type alike struct {
	text  string   // of the first, without its name when there are others
	names []string // the first assets
	count int
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
		l.failed.add(r)
	case agent.Held:
		l.left.add(r)
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

// varies is what differs in a reason from asset to asset, beside their names: lines, processes, how often, when.
var varies = regexp.MustCompile(`\b(line|pid|failed) \d+|\b\d\d:\d\d:\d\d\b`)

func (s *reasons) add(r agent.Result) {
	if *s == nil {
		*s = reasons{}
	}
	text := r.Error
	if strings.Contains(text, r.Asset) {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(r.Asset)+`\b`).ReplaceAllLiteralString(text, "ASSET")
	}
	key := varies.ReplaceAllString(text, "$1")
	one := (*s)[key]
	if one == nil {
		one = &alike{text: r.Error}
		(*s)[key] = one
	} else if one.count == 1 {
		one.text = text
	}
	if one.count++; len(one.names) < mostNames {
		one.names = append(one.names, r.Asset)
	}
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
	lines = append(lines, l.failed.lines("failed")...)
	return append(lines, l.left.lines("not done")...)
}

func (s reasons) lines(title string) []string {
	if len(s) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(s), func(a, b *alike) int {
		return cmp.Or(b.count-a.count, strings.Compare(a.text, b.text))
	})
	total, lines := 0, []string{""}
	for i, one := range all {
		if total += one.count; i >= mostReasons {
			continue
		}
		names := strings.Join(one.names, ", ")
		if more := one.count - len(one.names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, "  "+one.text, "    "+names)
	}
	if more := len(all) - mostReasons; more > 0 {
		lines = append(lines, "  and "+plain.Count(more, "other reason", "other reasons"))
	}
	lines[0] = fmt.Sprintf("%d %s:", total, title)
	return lines
}
