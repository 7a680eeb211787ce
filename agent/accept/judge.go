// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"maps"
	"slices"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
)

const (
	maxRoom       = 64 << 10 // of the risks in the record of a ticket, in bytes as JSON
	shownReason   = 1000     // bytes
	shownAccepter = 256
)

// Judge says which findings of an asset are accepted at a time, and why, as it is recorded. It is nil without a file.
func (l *List) Judge(asset string, all []findings.Finding, now time.Time) *verdict.Accepted {
	if l == nil || len(l.files) == 0 {
		return nil
	}
	s := subjectOf(asset)
	var accepted []int
	risks, ended := map[int][]int{}, map[int][]int{} // by rule, the places of its findings
	used := make([]map[int]bool, len(l.files))
	for place, f := range all {
		met := l.met(s, f)
		for _, n := range met {
			r := l.rules[n]
			if used[r.file] == nil {
				used[r.file] = map[int]bool{}
			}
			used[r.file][r.number] = true
		}
		switch n, accepts := l.choose(met, now); {
		case accepts && !l.covered(met, f, now):
			over := slices.DeleteFunc(met, func(n int) bool { return l.rules[n].vex || now.Before(l.rules[n].over) })
			if n, _ := l.choose(over, now); n >= 0 {
				ended[n] = append(ended[n], place)
			}
		case accepts:
			accepted, risks[n] = append(accepted, place), append(risks[n], place)
		case n >= 0:
			ended[n] = append(ended[n], place)
		}
	}
	a := &verdict.Accepted{Count: len(accepted), At: verdict.PlacesOf(accepted)}
	for i, f := range l.files {
		a.Files = append(a.Files, verdict.AcceptedFile{File: f.path, Digest: f.digest, Used: verdict.PlacesOf(slices.Sorted(maps.Keys(used[i])))})
	}
	room := maxRoom
	a.Ended = l.recorded(ended, &room, &a.More)
	a.Risks = l.recorded(risks, &room, &a.More)
	return a
}

// recorded are rules as they are recorded, as far as there is room; the others are counted.
func (l *List) recorded(places map[int][]int, room, more *int) (risks []verdict.AcceptedRisk) {
	for _, n := range slices.Sorted(maps.Keys(places)) {
		r := l.rules[n]
		risk := verdict.AcceptedRisk{
			ID: r.id, At: verdict.PlacesOf(places[n]), Reason: plain.Line(r.reason, shownReason), By: plain.Line(r.by, shownAccepter),
			Until: r.until, Source: r.source,
		}
		b, err := plain.JSON(risk)
		if *room -= len(b) + 1; err != nil || *room < 0 {
			*more++
			continue
		}
		risks = append(risks, risk)
	}
	return risks
}
