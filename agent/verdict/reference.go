// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"slices"

	"github.com/picketd/picket/agent/findings"
)

// Reference names a finding that the steps vuln and intel have recorded, so that assess need not repeat it.
type Reference struct {
	ID string `json:"id"`
	At int    `json:"at"` // its place in the Findings of EvidenceOf, from 0
}

// worst refers to the most severe findings, as many as most.
func (e Evidence) worst(most int) []Reference {
	refs := []Reference{}
	for at, f := range e.Findings[:min(len(e.Findings), most)] {
		if e.places != nil {
			at = e.places[at]
		}
		refs = append(refs, Reference{f.ID, at})
	}
	return refs
}

// referred returns the findings that references name. At a place where another finding stands, the first one of that id is meant: the
// reference was written by a version that had another order, or wrote no places.
func (e Evidence) referred(refs []Reference) []findings.Finding {
	list := []findings.Finding{}
	for _, r := range refs {
		if r.At < 0 || r.At >= len(e.Findings) || e.Findings[r.At].ID != r.ID {
			r.At = slices.IndexFunc(e.Findings, func(f findings.Finding) bool { return f.ID == r.ID })
		}
		if r.At >= 0 {
			list = append(list, e.Findings[r.At])
		}
	}
	return list
}
