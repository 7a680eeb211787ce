// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"

	"github.com/picketd/picket/agent/accept"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
)

// UnusedAccepted are the accepted risks that met no finding in this run, and how many assets were assessed with them at least. Over a
// list that several hosts share, others may have met some: a report tells it of the whole list.
func (a *Agent) UnusedAccepted() (risks []string, assets int) {
	return a.files.accepted.current().Unused(&a.used)
}

// noting notes in u what the accepted risks of each asset have met, and hands the asset on.
func noting(u *accept.Use, add func(report.Asset) error) func(report.Asset) error {
	return func(one report.Asset) error {
		if one.Now != nil {
			_, accepted := verdict.AcceptanceOf(*one.Now)
			u.Add(accepted)
		}
		return add(one)
	}
}

// unusedNote says for a report which accepted risks met nothing on the whole list, as far as assets were assessed with these files.
func unusedNote(l *accept.List, u *accept.Use) []string {
	risks, assets := l.Unused(u)
	if len(risks) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s met no finding of the %s that were assessed with their file: %s.",
		plain.Count(len(risks), "accepted risk", "accepted risks"), plain.Count(assets, "asset", "assets"), verdict.BriefList(risks, 5))}
}
