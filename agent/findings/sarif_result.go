// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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
		ID        text         `json:"id"`
		Index     *int         `json:"index"`
		Component componentRef `json:"toolComponent"`
	} `json:"rule"`
	Kind         text      `json:"kind"`
	Level        text      `json:"level"`
	Baseline     text      `json:"baselineState"`
	Message      sarifText `json:"message"`
	Properties   sarifBag  `json:"properties"`
	Suppressions []struct {
		Status text `json:"status"`
	} `json:"suppressions"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
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
}

// result is what is kept of a sarifResult at one of its locations. Indexes are -1 where there is none.
type result struct {
	ruleID, message, pkg string
	level, word          string
	apart                string // of the whole message
	names                []string
	component            componentRef
	rule                 int
	uri, within          string
	artifact             int
	score                float64
}

// keep takes a result, unless it is none that counts: one that was accepted, that is gone since the baseline, or that says
// something else than that a check failed. Each of its locations is a finding.
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
		ruleID: clean(first(string(r.RuleID), string(r.Rule.ID)), maxID), level: string(r.Level), word: r.Properties.word(),
		message: clean(string(r.Message.Text), maxTitle), score: r.Properties.score(), names: r.Properties.names(),
		component: r.Rule.Component, rule: index(r.RuleIndex), artifact: -1,
	}
	kept.apart = marked(Finding{}, string(r.Message.Text)).apart
	if kept.rule < 0 {
		kept.rule = index(r.Rule.Index)
	}
	if m := trivyMessage.FindStringSubmatch(string(r.Message.Text)); m != nil {
		kept.pkg = join(m[1], m[2])
	}
	if len(r.Locations) == 0 {
		r.Locations = []sarifLocation{{}}
	}
	for _, l := range r.Locations {
		run.results = append(run.results, kept.at(l))
		if err := over(len(run.results), "results"); err != nil {
			return err
		}
	}
	return nil
}

// at is the result at a location.
func (r result) at(l sarifLocation) result {
	r.uri, r.artifact = clean(string(l.Physical.Artifact.URI), maxPlace), index(l.Physical.Artifact.Index)
	switch region := l.Physical.Region; {
	case region.StartLine > 0 && region.StartColumn > 0:
		r.within = fmt.Sprintf("%.0f:%.0f", region.StartLine, region.StartColumn)
	case region.StartLine > 0:
		r.within = fmt.Sprintf("%.0f", region.StartLine)
	}
	if len(l.Logical) > 0 {
		logical := clean(first(string(l.Logical[0].Qualified), string(l.Logical[0].Name)), maxPlace)
		if name, version, ok := cutLast(logical, "@"); ok && r.pkg == "" {
			r.pkg = join(name, version) // as Snyk names a package
		}
		if r.uri == "" && r.artifact < 0 {
			r.uri = logical
		}
	}
	return r
}

// trivyMessage is how Trivy names the package in a result's message.
var trivyMessage = regexp.MustCompile(`^Package: (\S+)\s+Installed Version: (\S+)\s`)

// cutLast cuts s around the last sep, with something on both sides.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i <= 0 || i+len(sep) == len(s) {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
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
		Severity: first(r.word, rule.word, r.level, rule.level, "warning"), // the last is the standard's default
		CVSS:     cmp.Or(r.score, rule.score),
		Package:  r.pkg,
		Location: strings.Trim(r.uri+":"+r.within, ":"),
		apart:    r.apart,
	}
	if f.CVSS > 0 {
		f.Severity = rating(f.CVSS)
	}
	f.ID, f.Aliases = identify(slices.Concat([]string{first(r.ruleID, rule.id, r.message)}, r.names, rule.aliases)...)
	switch f.Title = first(rule.title, r.message); { // the message tells two results of a rule apart
	case cveIn(f.ID) == "":
		f.Title = first(r.message, rule.title)
	case f.Package == "" && r.message != "" && r.message != f.Title:
		f.Title += ": " + r.message
	}
	return f
}
