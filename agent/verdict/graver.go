// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// Has says whether all findings that are known now were there before.
func (e Evidence) Has(now Evidence) bool {
	if e.Digest == now.Digest {
		return true
	}
	if now.left > 0 {
		return false // some are not listed, so nothing tells whether they are new
	}
	known := map[string]bool{}
	for _, f := range e.Findings {
		known[identity(f)] = true
	}
	return !slices.ContainsFunc(now.Findings, func(f findings.Finding) bool { return !known[identity(f)] })
}

// Worse says whether something is graver now than it was before.
func Worse(now, before Evidence) bool {
	known := map[string]findings.Finding{}
	for _, f := range before.Findings {
		known[identity(f)] = f
	}
	return now.KEV && !before.KEV || now.MaxCVSS > before.MaxCVSS || slices.ContainsFunc(now.Findings, func(f findings.Finding) bool {
		old, ok := known[identity(f)]
		return ok && moreSevere(f, old)
	})
}

// moreSevere says whether a finding has become more severe.
func moreSevere(now, before findings.Finding) bool {
	return slices.Index(client.Severities(), now.Severity) > slices.Index(client.Severities(), before.Severity) || now.CVSS > before.CVSS ||
		now.KEV && !before.KEV
}

// NewReason says whether a part of the condition holds that did not hold then.
func NewReason(now, then AssessFacts) bool {
	return slices.ContainsFunc(now.Parts, func(p judged) bool {
		return p.Holds && !slices.ContainsFunc(then.Parts, func(q judged) bool { return q.Holds && q.Condition == p.Condition })
	})
}
