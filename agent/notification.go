// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// The API's limits, in bytes, and what of the facts is sent along.
const (
	maxTitle     = 256
	maxText      = 32 << 10
	maxSentFacts = 64 << 10
)

// announced is what the templates of a notification may name.
type announced struct {
	values
	verdict.Figures
	Findings []findings.Finding // the most severe first; as many as fit
	Because  string             // the parts of the condition that hold
	Brief    string             // the worst of it in a few words
}

// newText compiles a template of a notification.
func newText(text string) (*template.Template, error) {
	one := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10, Title: "x", Aliases: []string{"x"}, FixedIn: "2", URL: "https://example.com/"}
	return parseTemplate(text, announced{values: sample, Findings: []findings.Finding{one}})
}

// sentFacts go with a notification.
type sentFacts struct {
	verdict.Figures
	Because  string             `json:"because"`
	Digest   string             `json:"digest"`
	Omitted  int                `json:"omitted"`
	Findings []findings.Finding `json:"findings"`
}

// notification makes the content that people are told, the same each time from the same ticket.
func (j *job) notification() (client.NotificationRequest, error) {
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		return client.NotificationRequest{}, err
	}
	v := announced{values: j.values(), Figures: e.Figures, Findings: e.Findings, Brief: e.Brief()}
	var f verdict.AssessFacts
	if err := json.Unmarshal(j.ticket.Steps[client.StepAssess].Facts, &f); err == nil && f.Condition != "" {
		v.Because = f.Reasons()
	} else {
		v.Because = j.ticket.Steps[client.StepAssess].Summary // a command has decided
	}
	text, err := fittingText(j.a.plan.text, v)
	if err != nil {
		return client.NotificationRequest{}, err
	}
	title, err := render(j.a.plan.title, v)
	if err != nil {
		return client.NotificationRequest{}, err
	}
	sent := sentFacts{Figures: e.Figures, Because: v.Because, Digest: e.Digest}
	sent.Findings, _ = verdict.Fitting(e.Findings, maxSentFacts)
	sent.Omitted = max(e.Count-len(sent.Findings), 0)
	facts, err := plain.JSON(sent)
	if err != nil {
		return client.NotificationRequest{}, err
	}
	if title = plain.Line(title, maxTitle); title == "" {
		title = "High risk on an asset"
	}
	n := client.NotificationRequest{Title: title, Text: text, Severity: j.a.config.Notification.Severity, Facts: facts}
	if f.ToldBy != nil {
		n.Channels = f.ToldBy.Open // the others have got it
	}
	return n, nil
}

// fittingText fills the template with as many findings as the limit allows, and counts the others at its end
// if it lists any.
func fittingText(t *template.Template, v announced) (string, error) {
	all, lists := v.Findings, strings.Contains(t.Root.String(), ".Findings")
	for n := len(all); ; {
		v.Findings = all[:n]
		text, err := render(t, v)
		if err != nil {
			return "", err
		}
		text = plain.Text(text)
		if left := v.Count - n; left > 0 && lists {
			text += fmt.Sprintf("\n… and %d more", left)
		}
		if len(text) <= maxText || n == 0 {
			if text == "" {
				text = v.Because
			}
			return plain.Cut(text, maxText), nil
		}
		n = min(n-1, n*maxText/len(text)+1)
	}
}
