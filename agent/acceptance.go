// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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

// acceptance is what the accepted risks come to on a list, for its report.
type acceptance struct {
	met   accept.Use
	ended map[string]int // on how many assets, by what is said of each that is over
}

// noting hands assets on, and notes what was accepted of each.
func (n *acceptance) noting(add func(report.Asset) error) func(report.Asset) error {
	n.ended = map[string]int{}
	return func(one report.Asset) error {
		if one.Now != nil {
			_, accepted := verdict.AcceptanceOf(*one.Now)
			n.met.Add(accepted)
			for _, ending := range accepted.Endings(math.MaxInt) {
				n.ended[ending]++
			}
		}
		return add(one)
	}
}

// notes say which acceptances are over, those of the most assets first, and which risks met nothing on the whole list, as far as assets
// were assessed with the files that this run has.
func (n *acceptance) notes(l *accept.List) (notes []string) {
	endings := slices.SortedFunc(maps.Keys(n.ended), func(a, b string) int { return cmp.Or(n.ended[b]-n.ended[a], strings.Compare(a, b)) })
	for i, ending := range endings {
		if i == notedEndings {
			notes = append(notes, fmt.Sprintf("%d more acceptances ended.", len(endings)-i))
			break
		}
		notes = append(notes, fmt.Sprintf("%s%s: it counts again, on %s.", strings.ToUpper(ending[:1]), ending[1:], plain.Count(n.ended[ending], "asset", "assets")))
	}
	if risks, assets := l.Unused(&n.met); len(risks) > 0 {
		notes = append(notes, fmt.Sprintf("%s met no finding of the %s assessed with these files: %s.",
			plain.Count(len(risks), "accepted risk", "accepted risks"), plain.Count(assets, "asset", "assets"), verdict.BriefList(risks, 5)))
	}
	return notes
}

// notedEndings is how many acceptances that are over a report names at its head.
const notedEndings = 5
