// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"slices"
	"strings"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// Without is the evidence less the findings that are accepted. A figure gets less grave by that only as far as listed findings explain
// it: what a program says itself and no listed finding has, and what may be true of findings that are not listed, counts as before.
func (e Evidence) Without(a *Accepted) Evidence {
	if a == nil || a.Count == 0 {
		return e
	}
	unlisted := e.unlisted()
	var counted, accepted []findings.Finding
	out := map[int]bool{}
	for place := range a.At.All() {
		out[int(place)] = true
	}
	e.places = nil
	for place, f := range e.Findings {
		if out[place] {
			accepted = append(accepted, f)
			continue
		}
		counted, e.places = append(counted, f), append(e.places, place)
	}
	e.Findings, e.Accepted = counted, len(accepted)
	e.Figures = figuresOf(counted)
	e.Figures.add(unlisted)
	e.Digest += digest(accepted)
	if e.intel != nil {
		intel := *e.intel
		intel.KEVIDs = slices.DeleteFunc(slices.Clone(intel.KEVIDs), func(id string) bool { return hasName(accepted, id) && !hasName(counted, id) })
		if !hasName(accepted, intel.EPSSID) {
			// it is of a finding that counts
		} else if at := slices.IndexFunc(counted, func(f findings.Finding) bool { return f.EPSS > 0 && f.EPSS == e.EPSS }); at >= 0 {
			intel.EPSSID = counted[at].ID
		} else {
			intel.EPSSID = ""
		}
		e.intel = &intel
	}
	return e
}

// unlisted are the figures of what the list of findings lacks. Where it is not known, it may be as grave as all together.
func (e Evidence) unlisted() Figures {
	listed, rest := figuresOf(e.Findings), e.Figures
	switch {
	case e.left == 0:
		rest = Figures{}
	case e.lacks != nil:
		rest = *e.lacks
	}
	for _, severity := range append(client.Severities(), "unknown") {
		*rest.of(severity) = max(*e.of(severity)-*listed.of(severity), 0)
	}
	rest.Count, rest.Unread = max(e.Count-listed.Count, 0), max(e.Unread-listed.Unread, 0)
	for _, figure := range []struct {
		rest        *float64
		all, listed float64
	}{{&rest.MaxCVSS, e.MaxCVSS, listed.MaxCVSS}, {&rest.TopCVSS, e.TopCVSS, listed.TopCVSS}, {&rest.EPSS, e.EPSS, listed.EPSS}} {
		if figure.all > figure.listed {
			*figure.rest = figure.all
		}
	}
	rest.KEV = rest.KEV || e.KEV && !listed.KEV || slices.ContainsFunc(e.kevIDs, func(id string) bool { return !hasName(e.Findings, id) })
	return rest
}

// add adds figures of other findings.
func (f *Figures) add(o Figures) {
	for _, severity := range append(client.Severities(), "unknown") {
		*f.of(severity) += *o.of(severity)
	}
	f.Count, f.Unread = f.Count+o.Count, f.Unread+o.Unread
	f.MaxCVSS, f.TopCVSS, f.EPSS, f.KEV = max(f.MaxCVSS, o.MaxCVSS), max(f.TopCVSS, o.TopCVSS), max(f.EPSS, o.EPSS), f.KEV || o.KEV
}

// hasName says whether one of the findings has this id or alias.
func hasName(list []findings.Finding, id string) bool {
	return slices.ContainsFunc(list, func(f findings.Finding) bool {
		return slices.ContainsFunc(f.Names(), func(name string) bool { return strings.EqualFold(name, id) })
	})
}
