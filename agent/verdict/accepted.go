// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// Accepted is what assess records of accepted risks: which findings did not count, why, and by which files.
type Accepted struct {
	Count int            `json:"count"`           // of the findings that did not count
	At    Places         `json:"at,omitempty"`    // where they stand in Evidence.Findings, all of them
	Risks []AcceptedRisk `json:"risks,omitempty"` // why
	Ended []AcceptedRisk `json:"ended,omitempty"` // acceptances that are over: what they were about counts
	More  int            `json:"more,omitempty"`  // further ones of both, for which there was no room
	Files []AcceptedFile `json:"files"`
}

// AcceptedRisk is an acceptance that met findings of the ticket.
type AcceptedRisk struct {
	ID     string `json:"id"`
	At     Places `json:"at"`              // in Evidence.Findings
	Reason string `json:"reason"`          // one line, at most 1,000 bytes
	By     string `json:"by"`              // who accepts: of VEX, the author
	Until  string `json:"until,omitempty"` // the last day, YYYY-MM-DD in UTC; of VEX, none
	Source string `json:"source"`          // file and line, or file and number of the statement
}

// AcceptedFile is a file of accepted risks, or of VEX, as it was when the ticket was assessed.
type AcceptedFile struct {
	File   string `json:"file"`
	Digest string `json:"digest"`         // half of its SHA-256, in hexadecimal digits
	Used   Places `json:"used,omitempty"` // which of its entries, or of its statements' products, met a finding, from 0, all of them
}

// sentences say what did not count, and what counts again, for people.
func (a *Accepted) sentences() []string {
	if a == nil {
		return nil
	}
	var said []string
	if a.Count > 0 {
		said = append(said, fmt.Sprintf("%d accepted (%s)", a.Count, BriefList(idsOf(a.Risks), 3)))
	}
	return append(said, a.Endings(3)...)
}

func idsOf(risks []AcceptedRisk) (ids []string) {
	for _, r := range risks {
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Endings say of which findings the acceptance is over, of as many as most one by one.
func (a *Accepted) Endings(most int) (said []string) {
	if a == nil {
		return nil
	}
	for i, r := range a.Ended {
		if i == most {
			return append(said, fmt.Sprintf("acceptance of %d more ended", len(a.Ended)-most))
		}
		said = append(said, fmt.Sprintf("acceptance of %s ended on %s", r.ID, r.Until))
	}
	return said
}

// endedSince says whether an acceptance is over that was not then.
func (a *Accepted) endedSince(then *Accepted) bool {
	return a != nil && slices.ContainsFunc(a.Ended, func(r AcceptedRisk) bool {
		return then == nil || !slices.ContainsFunc(then.Ended, func(old AcceptedRisk) bool { return old.ID == r.ID && old.Until == r.Until })
	})
}

// explain says why findings were accepted.
func (a *Accepted) explain(say func(string, ...any)) {
	if a == nil {
		return
	}
	for _, f := range a.Files {
		say("Accepted risks were asked for in %s (digest %s).", f.File, f.Digest)
	}
	if a.Count > 0 {
		say("%s accepted, and did not count:", plain.Count(a.Count, "finding is", "findings are"))
	}
	for i, r := range a.Risks {
		if i == shownRisks {
			break
		}
		until := ""
		if r.Until != "" {
			until = ", until " + r.Until
		}
		say("  %s: %s (by %s%s; %s)", r.ID, r.Reason, r.By, until, r.Source)
	}
	if more := max(len(a.Risks)-shownRisks, 0) + a.More; more > 0 {
		say("  and %d more", more)
	}
	for _, ending := range a.Endings(shownRisks) {
		say("%s%s: it counts again.", strings.ToUpper(ending[:1]), ending[1:])
	}
}

// shownRisks is how many accepted risks are explained one by one.
const shownRisks = 20
