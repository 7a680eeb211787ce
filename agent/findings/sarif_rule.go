// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

type sarifText struct {
	Text     text `json:"text"`
	Markdown text `json:"markdown"`
}

// sarifBag is a bag of properties, in which anything may stand.
type sarifBag map[string]json.RawMessage

// score reads "security-severity", which GitHub made the place for a score from 0 to 10, else "cvssv3_baseScore", which is
// AWS' (both of Snyk, and of Trivy).
func (b sarifBag) score() float64 {
	for _, name := range []string{"security-severity", "cvssv3_baseScore"} {
		var n number
		if raw := b[name]; raw != nil && n.UnmarshalJSON(raw) == nil && n.within(10) > 0 {
			return n.within(10)
		}
	}
	return 0
}

// word reads a severity that some tools write in the place of the score.
func (b sarifBag) word() string {
	var t text
	if raw := b["security-severity"]; raw == nil || t.UnmarshalJSON(raw) != nil || severity(string(t)) == "unknown" {
		return ""
	}
	return string(t)
}

// names are the CVEs in "cve" and "tags".
func (b sarifBag) names() []string {
	var names []string
	for _, name := range []string{"cve", "tags"} {
		var all texts
		if raw := b[name]; raw != nil && all.UnmarshalJSON(raw) == nil {
			for _, one := range all {
				if cve := cveIn(one); cve != "" && len(names) < maxAliases {
					names = append(names, cve)
				}
			}
		}
	}
	return names
}

// sarifRule is a reportingDescriptor.
type sarifRule struct {
	ID            text      `json:"id"`
	Name          text      `json:"name"`
	Short         sarifText `json:"shortDescription"`
	Full          sarifText `json:"fullDescription"`
	Help          sarifText `json:"help"`
	DeprecatedIDs texts     `json:"deprecatedIds"`
	Properties    sarifBag  `json:"properties"`
	Default       struct {
		Level text `json:"level"`
	} `json:"defaultConfiguration"`
}

// rule is what is kept of a sarifRule.
type rule struct {
	id, title, level string
	word             string // a severity, see sarifBag.word
	aliases          []string
	score            float64
}

// names are the other names of a rule. Its texts count only where no name is a CVE, for a text about one CVE often tells of
// others.
func (r *sarifRule) names() []string {
	names := slices.Concat(r.DeprecatedIDs, r.Properties.names())
	if slices.ContainsFunc(append([]string{string(r.ID)}, names...), func(name string) bool { return cveIn(name) != "" }) {
		return names
	}
	for _, t := range []text{r.Full.Text, r.Short.Text, r.Help.Text, r.Help.Markdown} {
		if found := told(string(t)); len(found) > 0 {
			return append(names, found...)
		}
	}
	return names
}

var anyCVE = regexp.MustCompile(`(?i)\bcve-[0-9]{4}-[0-9]{4,19}\b`)

// told returns the CVEs that a text is about: those in brackets at its beginning, as Snyk writes them, or its only one.
func told(s string) []string {
	if inner, _, ok := strings.Cut(s, ")"); ok && strings.HasPrefix(inner, "(") {
		if all := distinct(anyCVE.FindAllString(inner, maxAliases)); len(all) > 0 {
			return all
		}
	}
	if all := distinct(anyCVE.FindAllString(s, maxAliases)); len(all) == 1 {
		return all
	}
	return nil
}

func distinct(cves []string) []string {
	var all []string
	for _, cve := range cves {
		if cve = strings.ToUpper(cve); !slices.Contains(all, cve) {
			all = append(all, cve)
		}
	}
	return all
}

// component is what has rules: the tool's driver, or an extension of it.
type component struct {
	guid, name string
	rules      []rule
	byID       map[string]int
}

// componentRef names a component: by its index among the extensions, its guid or its name; by nothing, it is the driver.
type componentRef struct {
	Index *int `json:"index"`
	GUID  text `json:"guid"`
	Name  text `json:"name"`
}

// component reads the driver, which is component 0, or an extension.
func (run *sarifRun) component(d *document, n int) error {
	c := &run.components[n]
	var guid, name text
	c.byID = map[string]int{}
	err := d.object(fields{
		"guid": d.value(&guid),
		"name": d.value(&name),
		"rules": list(d, func(r *sarifRule) error {
			if _, ok := c.byID[string(r.ID)]; !ok {
				c.byID[string(r.ID)] = len(c.rules)
			}
			c.rules = append(c.rules, rule{
				id:      string(r.ID),
				title:   clean(first(string(r.Short.Text), string(r.Name)), maxTitle),
				level:   string(r.Default.Level),
				word:    r.Properties.word(),
				aliases: r.names(),
				score:   r.Properties.score(),
			})
			run.rules++
			return over(run.rules, "rules")
		}),
	})
	c.guid, c.name = string(guid), string(name)
	return err
}

// find returns the component that is meant, or nil.
func (run *sarifRun) find(ref componentRef) *component {
	if index(ref.Index) < 0 && ref.GUID == "" && ref.Name == "" {
		return &run.components[0]
	}
	for i := range run.components {
		c := &run.components[i]
		switch {
		case index(ref.Index) >= 0:
			if i == *ref.Index+1 {
				return c
			}
		case ref.GUID != "":
			if strings.EqualFold(c.guid, string(ref.GUID)) {
				return c
			}
		case c.name == string(ref.Name):
			return c
		}
	}
	return nil
}

// rule finds the rule of a result: by its index where the rule there has the result's id, or the result has none; else by its
// id, in the component that is named and then in the others. The last parts of a result's id may be more than its rule's
// ("CA1000/1").
func (run *sarifRun) rule(r result) rule {
	named := run.find(r.component)
	if named != nil && r.rule >= 0 && r.rule < len(named.rules) {
		at := named.rules[r.rule]
		if r.ruleID == "" || r.ruleID == clean(at.id, maxID) || strings.HasPrefix(r.ruleID, at.id+"/") {
			return at
		}
	}
	for id := r.ruleID; id != ""; id = id[:max(0, strings.LastIndexByte(id, '/'))] {
		if named != nil {
			if i, ok := named.byID[id]; ok {
				return named.rules[i]
			}
		}
		for _, c := range run.components {
			if i, ok := c.byID[id]; ok {
				return c.rules[i]
			}
		}
	}
	return rule{}
}
