// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// standing is how it stands with an asset in a task, as its ticket tells.
type standing struct {
	online, offline bool
	settled         bool   // nothing more is to come, or a failure says why not
	failed          string // the step, "" when nothing failed
	err             string // why it failed
	high            *bool  // nil: not known
	scanned         bool   // the findings are known
	list            []findings.Finding
	marks           []*Acceptance      // of list, each nil or why it is accepted
	count           int                // all findings
	left            int                // those that the list had no room for
	lists           []verdict.Evidence // what list was taken from
	incomplete      bool               // the scan could not try all: what is not among them may be there
}

// baseOf is how it stood with an asset before. What a scan that could not try all did not find stands as the one before told of it.
func baseOf(a Asset) standing {
	base := standingOf(a.Base)
	for _, t := range a.Older {
		older := standingOf(t)
		for k, again := range taken(match(a.Name, base.list, older.list), len(older.list)) {
			if !again {
				base.list, base.marks, base.count = append(base.list, older.list[k]), append(base.marks, older.marks[k]), base.count+1
			}
		}
		base.lists = append(base.lists, older.lists...)
		if older.isHigh() {
			base.high = older.high
		}
	}
	return base
}

// standingOf reads a ticket, which may be nil.
func standingOf(t *client.Ticket) (s standing) {
	if t == nil {
		return s
	}
	s.high = t.HighRisk
	failure := t.Failure
	switch t.State {
	case client.StateFinished, client.StateNotifying, client.StateNotified:
		s.settled, failure = true, nil
	case client.StateHighRiskFound:
		s.settled = true
	case client.StateFailed:
		s.settled = true
		s.fail(client.CallNotify, verdict.WhyFailed(*t))
	}
	if failure != nil {
		s.settled = true
		s.fail(failure.Step, failure.Error)
	}
	switch t.Steps[client.StepOnline].State {
	case client.StateAssetOnline:
		s.online = true
	case client.StateAssetOffline:
		s.offline = s.settled && s.failed == ""
	}
	if _, ok := t.Steps[client.StepVuln]; !ok || !s.settled {
		return s
	}
	e, err := verdict.EvidenceOf(*t)
	if err != nil {
		s.fail(cmp.Or(s.failed, client.StepVuln), cmp.Or(s.err, err.Error()))
		return s
	}
	s.scanned, s.list, s.count, s.left = true, e.Findings, max(e.Count, len(e.Findings)), e.Left()
	s.lists, s.incomplete = []verdict.Evidence{e}, verdict.IsIncomplete(*t)
	s.marks = make([]*Acceptance, len(s.list))
	accepted, _ := verdict.AcceptanceOf(*t)
	for place, risk := range accepted {
		if place < len(s.marks) {
			s.marks[place] = &Acceptance{risk.Reason, risk.Until, risk.By}
		}
	}
	return s
}

// mostError is how long an error is shown, in bytes.
const mostError = 500

func (s *standing) fail(step, why string) { s.failed, s.err = step, plain.Line(why, mostError) }

// isHigh says whether the asset is known to be at high risk.
func (s standing) isHigh() bool { return s.high != nil && *s.high }
