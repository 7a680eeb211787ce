// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"encoding/json"

	"github.com/picketd/picket/sockapi/client"
)

// AcceptanceOf reads what assess has recorded: for the place of each accepted finding in Evidence.Findings, why; and all of it, nil where
// accepted risks were not asked for. Of a risk for which there was no room, nothing but the finding's place is known.
func AcceptanceOf(t client.Ticket) (map[int]AcceptedRisk, *Accepted) {
	a := AcceptedIn(t.Steps[client.StepAssess].Facts)
	if a == nil {
		return nil, nil
	}
	at := map[int]AcceptedRisk{}
	for place := range a.At.All() {
		at[int(place)] = AcceptedRisk{}
	}
	for _, r := range a.Risks {
		for place := range r.At.All() {
			at[int(place)] = r
		}
	}
	return at, a
}

// AcceptedIn reads the facts of assess. What a command has decided that says so in a form of its own makes nothing less grave.
func AcceptedIn(facts json.RawMessage) *Accepted {
	var f AssessFacts
	if err := json.Unmarshal(facts, &f); err != nil || f.Condition == "" {
		return nil
	}
	return f.Accepted
}

// CountedOf is EvidenceOf a ticket less what assess has recorded as accepted.
func CountedOf(t client.Ticket) (Evidence, error) {
	e, err := EvidenceOf(t)
	if err != nil {
		return e, err
	}
	return e.Without(AcceptedIn(t.Steps[client.StepAssess].Facts)), nil
}
