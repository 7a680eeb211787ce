// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

type sarifArtifact struct {
	URI   text `json:"uri"`
	Index *int `json:"index"`
}

type sarifResult struct {
	RuleID     text           `json:"ruleId"`
	RuleIndex  *int           `json:"ruleIndex"`
	Rule       sarifReference `json:"rule"`
	Kind       text           `json:"kind"`
	Level      text           `json:"level"`
	Baseline   text           `json:"baselineState"`
	Message    sarifMessage   `json:"message"`
	Provenance struct {
		Invocation *int `json:"invocationIndex"`
	} `json:"provenance"`
	Properties   sarifBag `json:"properties"`
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

// keep takes a result, unless it is none that counts: one that was accepted, that is gone since the baseline, or that says
// something else than that a check failed. Each of its locations is a finding.
func (run *sarifRun) keep(r *sarifResult) error {
	for _, s := range r.Suppressions {
		if s.Status == "" || s.Status == "accepted" {
			return nil
		}
	}
	if r.Baseline == "absent" {
		return nil
	}
	if slices.Contains([]text{"pass", "open", "informational", "notApplicable", "review"}, r.Kind) {
		if r.Kind == "open" || r.Kind == "review" {
			run.left++
		}
		return nil
	}
	kept := result{
		ruleRef: ruleRef{plain.Line(cmp.Or(string(r.RuleID), string(r.Rule.ID)), maxID), sarifIndex(r.RuleIndex), r.Rule.Component},
		message: r.Message.message(), names: r.Properties.names(), level: plain.Line(string(r.Level), maxID),
		invocation: sarifIndex(r.Provenance.Invocation), artifact: -1,
	}
	kept.score, kept.word, kept.unread = r.Properties.rated()
	kept.apart = marked(Finding{}, append([]string{string(r.Message.Text), string(r.Message.ID)}, r.Message.Arguments...)...).apart
	if kept.index < 0 {
		kept.index = sarifIndex(r.Rule.Index)
	}
	if m := trivyMessage.FindStringSubmatch(string(r.Message.Text)); m != nil {
		kept.pkg = plain.Line(join(m[1], m[2]), maxPlace)
	}
	if m := trivyFixed.FindStringSubmatch(string(r.Message.Text)); m != nil {
		kept.fixed = plain.Line(m[1], maxID)
	}
	texts := append(slices.Concat(kept.names, kept.message.arguments), kept.id, kept.message.text, kept.message.id, kept.pkg)
	if len(r.Locations) == 0 {
		r.Locations = []sarifLocation{{}}
	}
	for _, l := range r.Locations {
		at := kept.located(l)
		run.results = append(run.results, at)
		if err := run.into.take(append(texts, at.uri)...); err != nil {
			return err
		}
		if err := over(len(run.results), "results"); err != nil {
			return err
		}
	}
	return nil
}

// located is the result at a location.
func (r result) located(l sarifLocation) result {
	r.uri, r.artifact = plain.Line(string(l.Physical.Artifact.URI), maxPlace), sarifIndex(l.Physical.Artifact.Index)
	switch region := l.Physical.Region; {
	case region.StartLine > 0 && region.StartColumn > 0:
		r.within = fmt.Sprintf("%.0f:%.0f", region.StartLine, region.StartColumn)
	case region.StartLine > 0:
		r.within = fmt.Sprintf("%.0f", region.StartLine)
	}
	if len(l.Logical) > 0 {
		logical := plain.Line(cmp.Or(string(l.Logical[0].Qualified), string(l.Logical[0].Name)), maxPlace)
		if name, version, ok := cutLast(logical, "@"); ok && r.pkg == "" {
			r.pkg = join(name, version) // as Snyk names a package
		}
		if r.uri == "" && r.artifact < 0 {
			r.uri = logical
		}
	}
	return r
}

// trivyMessage is how Trivy names the package in a result's message, and trivyFixed the version that mends it.
var (
	trivyMessage = regexp.MustCompile(`^Package: (\S+)\s+Installed Version: (\S+)\s`)
	trivyFixed   = regexp.MustCompile(`(?m)^Fixed Version: *(\S.*)$`)
)

// cutLast cuts s around the last sep, with something on both sides.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i <= 0 || i+len(sep) == len(s) {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (run *sarifRun) findingOf(r result) Finding {
	at := run.rule(r.ruleRef)
	override := run.levels[overridden{at, "", r.invocation}]
	if at == nil {
		override = run.levels[overridden{nil, r.id, r.invocation}]
	}
	text := run.words(r.message, at, run.find(r.component))
	rule := rule{}
	if at != nil {
		rule = *at
	}
	if r.uri == "" && r.artifact >= 0 && r.artifact < len(run.artifacts) {
		r.uri = run.artifacts[r.artifact]
	}
	f := Finding{
		Severity: cmp.Or(r.word, rule.word, r.level, override, rule.level, "warning"), // the last is the standard's default
		CVSS:     cmp.Or(r.score, rule.score),
		Package:  r.pkg,
		Location: strings.Trim(r.uri+":"+r.within, ":"),
		FixedIn:  r.fixed,
		URL:      rule.url,
		Vector:   cmp.Or(r.unread, rule.unread),
		apart:    r.apart,
	}
	if f.CVSS > 0 {
		f.Severity = rating(f.CVSS)
	}
	f.ID, f.Aliases = identify(slices.Concat([]string{cmp.Or(r.id, rule.id, text)}, r.names, rule.aliases)...)
	switch f.Title = cmp.Or(rule.title, text); { // the message tells two results of a rule apart
	case cveIn(f.ID) == "":
		f.Title = cmp.Or(text, rule.title)
	case f.Package == "" && text != "" && text != f.Title:
		f.Title += ": " + text
	}
	return f
}

// words are a message for people (SARIF 2.1.0, sections 3.11.5 and 3.11.7). One whose text nobody has is told by its id and
// arguments, so that two results of a rule stay two.
func (run *sarifRun) words(m message, of *rule, component *component) string {
	s := m.text
	if s == "" && m.id != "" {
		if of != nil {
			s, component = of.messages[m.id], &run.components[of.component]
		}
		if s == "" && component != nil {
			s = component.messages[m.id]
		}
		if s == "" {
			return join(append([]string{m.id}, m.arguments...)...)
		}
	}
	return filled(s, m.arguments)
}
