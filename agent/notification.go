// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"encoding/json"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// sentFacts go with a notification.
type sentFacts struct {
	verdict.Figures
	Accepted int                `json:"accepted,omitempty"` // findings that are left out
	Because  string             `json:"because"`
	Digest   string             `json:"digest"`
	Omitted  int                `json:"omitted"`
	Findings []findings.Finding `json:"findings"`
}

// notification makes the content that people are told, the same each time from the same ticket.
func (j *job) notification() (client.NotificationRequest, error) {
	e, err := verdict.CountedOf(j.ticket)
	if err != nil {
		return client.NotificationRequest{}, err
	}
	v := announced{values: j.values(), Figures: e.Figures, Findings: e.Findings, Accepted: e.Accepted, Brief: e.Brief()}
	var f verdict.AssessFacts
	if err := json.Unmarshal(j.ticket.Steps[client.StepAssess].Facts, &f); err == nil && f.Condition != "" {
		v.Because, v.Ended = f.Reasons(), f.Accepted.Endings(shownEndings)
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
	sent := sentFacts{Figures: e.Figures, Accepted: e.Accepted, Because: v.Because, Digest: e.Digest}
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
