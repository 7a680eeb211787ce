// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// sarifBag is a bag of properties, in which anything may stand.
type sarifBag map[string]json.RawMessage

// rated reads "security-severity", which GitHub made the place for a score from 0 to 10, else "cvssv3_baseScore", which is AWS'
// (both of Snyk, and of Trivy). Some tools write a vector or a severity there. unread is what looks like a vector and is none.
func (b sarifBag) rated() (score float64, word, unread string) {
	var s scores
	for _, name := range []string{"security-severity", "cvssv3_baseScore"} {
		var t text
		if raw := b[name]; raw == nil || t.UnmarshalJSON(raw) != nil {
			continue
		}
		if s.add("", parseNumber(string(t)), string(t)); s.best() > 0 {
			return s.best(), "", ""
		}
		if name == "security-severity" && severity(string(t)) != "unknown" {
			word = string(t)
		}
	}
	if !strings.Contains(s.unread, "/") {
		s.unread = ""
	}
	return 0, word, s.unread
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
	ID            text                 `json:"id"`
	Name          text                 `json:"name"`
	Short         sarifText            `json:"shortDescription"`
	Full          sarifText            `json:"fullDescription"`
	Help          sarifText            `json:"help"`
	HelpURI       text                 `json:"helpUri"`
	DeprecatedIDs texts                `json:"deprecatedIds"`
	Properties    sarifBag             `json:"properties"`
	Messages      map[string]sarifText `json:"messageStrings"`
	Default       struct {
		Level text `json:"level"`
	} `json:"defaultConfiguration"`
}

// rule is what is kept of a sarifRule.
type rule struct {
	id, title, level string
	word, unread     string // a severity, and a score that is none, see sarifBag
	url              string
	aliases          []string
	score            float64
	messages         map[string]string
	component        int // that has it
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

// rule is what is kept.
func (r *sarifRule) rule() rule {
	kept := rule{
		id:       string(r.ID),
		title:    plain.Line(cmp.Or(string(r.Short.Text), string(r.Name)), maxTitle),
		level:    plain.Line(string(r.Default.Level), maxID),
		url:      link(string(r.HelpURI)),
		aliases:  r.names(),
		messages: plainMessages(r.Messages),
	}
	kept.score, kept.word, kept.unread = r.Properties.rated()
	return kept
}

// maxTemplate bounds a text of a rule with places for arguments, in bytes.
const maxTemplate = 1024

type sarifText struct {
	Text     text `json:"text"`
	Markdown text `json:"markdown"`
}

// sarifMessage is a text, or the id of one that the rule has, or its component for all rules, with what stands in its places.
type sarifMessage struct {
	sarifText
	ID        text  `json:"id"`
	Arguments texts `json:"arguments"`
}

// message is what is kept of a sarifMessage.
type message struct {
	text, id  string
	arguments []string
}

// reference is text that leads to a location of the result (SARIF 2.1.0, section 3.11.6).
var reference = regexp.MustCompile(`\[([^\[\]]+)\]\([0-9]+\)`)

func (m sarifMessage) message() message {
	text := plain.Line(cmp.Or(string(m.Text), string(m.Markdown)), maxTemplate)
	kept := message{text: reference.ReplaceAllString(text, "$1"), id: plain.Line(string(m.ID), maxID)}
	for _, a := range m.Arguments[:min(len(m.Arguments), 32)] {
		kept.arguments = append(kept.arguments, plain.Line(a, maxTitle))
	}
	return kept
}

// plainMessages are the texts of a rule or a component, by their ids.
func plainMessages(all map[string]sarifText) map[string]string {
	if len(all) == 0 {
		return nil
	}
	texts := map[string]string{}
	for id, t := range all {
		texts[id] = plain.Line(cmp.Or(string(t.Text), string(t.Markdown)), maxTemplate)
	}
	return texts
}

// filled puts arguments into the places {0}, {1} and so on of a text, in which {{ and }} stand for braces. A text without
// arguments is left as it is: few tools double its braces.
func filled(s string, arguments []string) string {
	if len(arguments) == 0 {
		return s
	}
	var b strings.Builder
	for s != "" && b.Len() <= maxTemplate {
		switch {
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			b.WriteByte(s[0])
			s = s[2:]
			continue
		case s[0] == '{':
			inner, rest, ok := strings.Cut(s[1:], "}")
			if i, err := strconv.Atoi(inner); ok && err == nil && i >= 0 && i < len(arguments) {
				b.WriteString(arguments[i])
				s = rest
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}
