// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"fmt"
	"strings"
)

type sarifArtifact struct {
	URI   text `json:"uri"`
	Index *int `json:"index"`
}

type sarifResult struct {
	RuleID    text `json:"ruleId"`
	RuleIndex *int `json:"ruleIndex"`
	Rule      struct {
		ID        text `json:"id"`
		Index     *int `json:"index"`
		Component struct {
			Index *int `json:"index"`
		} `json:"toolComponent"`
	} `json:"rule"`
	Kind         text      `json:"kind"`
	Level        text      `json:"level"`
	Baseline     text      `json:"baselineState"`
	Message      sarifText `json:"message"`
	Properties   sarifBag  `json:"properties"`
	Suppressions []struct {
		Status text `json:"status"`
	} `json:"suppressions"`
	Locations []struct {
		Physical struct {
			Artifact sarifArtifact `json:"artifactLocation"`
			Region   struct {
				StartLine   number `json:"startLine"`
				StartColumn number `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
		Logical []struct {
			Name      text `json:"name"`
			Qualified text `json:"fullyQualifiedName"`
		} `json:"logicalLocations"`
	} `json:"locations"`
}

// result is what is kept of a sarifResult. Indexes are -1 where there is none.
type result struct {
	ruleID, level, message string
	component, rule        int
	uri, within            string
	artifact               int
	score                  float64
}

// keep takes a result, unless it is none that counts: one that was accepted, that is gone since the baseline, or that says
// something else than that a check failed.
func (run *sarifRun) keep(r *sarifResult) error {
	for _, s := range r.Suppressions {
		if s.Status == "" || s.Status == "accepted" {
			return nil
		}
	}
	if r.Kind != "" && r.Kind != "fail" || r.Baseline == "absent" {
		return nil
	}
	kept := result{
		ruleID: clean(first(string(r.RuleID), string(r.Rule.ID)), maxID), level: string(r.Level),
		message: clean(string(r.Message.Text), maxTitle), score: r.Properties.score(),
		component: index(r.Rule.Component.Index) + 1, rule: index(r.RuleIndex), artifact: -1,
	}
	if kept.rule < 0 {
		kept.rule = index(r.Rule.Index)
	}
	if len(r.Locations) > 0 {
		l := r.Locations[0]
		kept.uri, kept.artifact = clean(string(l.Physical.Artifact.URI), maxPlace), index(l.Physical.Artifact.Index)
		switch region := l.Physical.Region; {
		case region.StartLine > 0 && region.StartColumn > 0:
			kept.within = fmt.Sprintf("%.0f:%.0f", region.StartLine, region.StartColumn)
		case region.StartLine > 0:
			kept.within = fmt.Sprintf("%.0f", region.StartLine)
		}
		if kept.uri == "" && kept.artifact < 0 && len(l.Logical) > 0 {
			kept.uri = clean(first(string(l.Logical[0].Qualified), string(l.Logical[0].Name)), maxPlace)
		}
	}
	run.results = append(run.results, kept)
	return over(len(run.results), "results")
}

func index(i *int) int {
	if i == nil || *i < 0 {
		return -1
	}
	return *i
}

func (run *sarifRun) finding(r result) Finding {
	rule := run.rule(r)
	if r.uri == "" && r.artifact >= 0 && r.artifact < len(run.artifacts) {
		r.uri = run.artifacts[r.artifact]
	}
	f := Finding{
		Severity: first(r.level, rule.level, "warning"), // the standard's default
		CVSS:     cmp.Or(r.score, rule.score),
		Location: strings.Trim(r.uri+":"+r.within, ":"),
	}
	if f.CVSS > 0 {
		f.Severity = rating(f.CVSS)
	}
	f.ID, f.Aliases = identify(append([]string{first(r.ruleID, rule.id, r.message)}, rule.aliases...)...)
	if f.Title = first(rule.title, r.message); cveIn(f.ID) == "" { // then the message tells two results of a rule apart
		f.Title = first(r.message, rule.title)
	}
	return f
}

// rule finds the rule of a result: by its index, in the driver or an extension, else by its id, of which the last part may
// be more than the rule's own ("CA1000/1").
func (run *sarifRun) rule(r result) rule {
	if r.component < len(run.rules) && r.rule >= 0 && r.rule < len(run.rules[r.component]) {
		return run.rules[r.component][r.rule]
	}
	for id := r.ruleID; id != ""; {
		if found, ok := run.byID[id]; ok {
			return found
		}
		id = id[:max(0, strings.LastIndexByte(id, '/'))]
	}
	return rule{}
}
