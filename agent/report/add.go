// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"errors"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// The sections of a report, as rows name them.
const (
	SectionNew          = "new"
	SectionFixed        = "fixed"
	SectionChanged      = "changed"
	SectionAccepted     = "accepted"
	SectionOpen         = "open"    // still there, as it was
	SectionUnknown      = "unknown" // nobody can say
	SectionNewlyHigh    = "newly_high"
	SectionNoLongerHigh = "no_longer_high"
	SectionFailed       = "failed"
	SectionUnreached    = "unreached"
	SectionNotScanned   = "not_scanned"
)

// Row is one line of the full tables: a finding, or an asset.
type Row struct {
	Section string
	Asset   string
	Finding *Finding // nil: the asset itself
	Step    string   // of what failed
	Why     string   // of what failed, and of what was not scanned
}

// Add takes an asset, each once and in any order. Errors are those of the rows that it leads to.
func (m *Maker) Add(a Asset) error {
	r := &m.r
	now, base := standingOf(a.Now), baseOf(a)
	if a.Untold != nil && !base.isHigh() {
		r.NewlyHigh.add(a.Name)
		if err := r.row(Row{Section: SectionNewlyHigh, Asset: a.Name}); err != nil {
			return err
		}
	}
	if a.Gone {
		return errors.Join(r.notScanned(a.Name, "it is in the list no more"), r.unknown(a.Name, base))
	}
	r.Counts.Assets++
	if a.Unsettled || !now.settled {
		why := "nobody has begun it"
		switch {
		case now.settled:
			why = "it was settled after the report was made"
		case a.Now != nil:
			why = "it was not settled: " + a.Now.State
		}
		return errors.Join(r.notScanned(a.Name, why), r.unknown(a.Name, base))
	}
	err := r.asset(a, now, base)
	if !now.scanned {
		return errors.Join(err, r.unknown(a.Name, base))
	}
	r.Scanned++
	if now.incomplete {
		r.Incomplete++
	}
	return errors.Join(err, r.compare(a, now, base))
}

// row hands a row on.
func (r *Report) row(row Row) (err error) {
	for _, take := range r.rows {
		err = errors.Join(err, take(row))
	}
	return err
}

func (r *Report) notScanned(asset, why string) error {
	r.Counts.NotScanned++
	r.NotScanned.add(NotScanned{asset, why})
	return r.row(Row{Section: SectionNotScanned, Asset: asset, Why: why})
}

// unknown notes the findings of an asset of which nothing is known now.
func (r *Report) unknown(asset string, base standing) (err error) {
	r.Counts.Unknown += base.count
	for _, f := range base.list {
		one := newFinding(asset, f)
		err = errors.Join(err, r.row(Row{Section: SectionUnknown, Asset: asset, Finding: &one}))
	}
	return err
}

// asset takes what is to be said of the asset itself.
func (r *Report) asset(a Asset, now, base standing) (err error) {
	c := &r.Counts
	list := func(to *Section[string], section string) {
		to.add(a.Name)
		err = errors.Join(err, r.row(Row{Section: section, Asset: a.Name}))
	}
	if now.online {
		c.Online++
	}
	if now.offline {
		c.Offline++
		c.Unreached++
		if a.Last != nil && standingOf(a.Last).offline {
			list(&r.StillUnreached, SectionUnreached)
		} else {
			list(&r.NewlyUnreached, SectionUnreached)
		}
	}
	if now.failed != "" {
		c.Failed++
		r.Failed.add(Failure{a.Name, now.failed, now.err})
		r.Reasons.Add(a.Name, fmt.Sprintf("%s: %s", now.failed, now.err))
		err = errors.Join(err, r.row(Row{Section: SectionFailed, Asset: a.Name, Step: now.failed, Why: now.err}))
	}
	if now.isHigh() {
		c.HighRisk++
		if !base.isHigh() {
			list(&r.NewlyHigh, SectionNewlyHigh)
		}
	} else if base.isHigh() && now.high != nil && !now.incomplete {
		list(&r.NoLongerHigh, SectionNoLongerHigh)
	}
	return err
}

// compare takes the findings of an asset that was scanned. What is missing is fixed only where all was tried, and is listed.
func (r *Report) compare(a Asset, now, base standing) (err error) {
	c := &r.Counts
	c.Findings += now.count
	c.Unknown += now.left
	_, had := ticketOf(a.Base).Steps[client.StepVuln]
	unsure := func(f findings.Finding) bool { // whether what is not among the base's may have been there
		return had && !base.scanned || slices.ContainsFunc(base.lists, func(e verdict.Evidence) bool { return e.MayHide(f) })
	}
	seen := Standing{Asset: a.Name, HighRisk: now.isHigh(), Open: now.count}
	add := func(section string, to *Section[Finding], f Finding) {
		if to != nil {
			to.add(f)
		}
		err = errors.Join(err, r.row(Row{Section: section, Asset: a.Name, Finding: &f}))
	}
	pairs := match(a.Name, now.list, base.list)
	for i, found := range now.list {
		f, isNew := newFinding(a.Name, found), false
		if k := pairs[i]; k >= 0 {
			f.Was = changes(found, base.list[k])
			f.wasAccepted(now.marks[i], base.marks[k])
		}
		switch {
		case now.marks[i] != nil:
			f.Acceptance = now.marks[i]
			c.Accepted++
			seen.Open--
			add(SectionAccepted, &r.Accepted, f)
			continue
		case pairs[i] >= 0 && f.Was == nil:
			add(SectionOpen, nil, f)
		case pairs[i] >= 0:
			if rank(f.Severity) > rank(base.list[pairs[i]].Severity) || f.Was["kev"] == false || f.Was["accepted"] == true {
				r.Graver++
			}
			add(SectionChanged, &r.Changed, f)
		case unsure(found):
			c.Unknown++
			add(SectionUnknown, nil, f)
		default:
			isNew = true
			c.New++
			seen.New++
			r.NewBySeverity[f.Severity]++
			add(SectionNew, &r.New, f)
		}
		r.BySeverity[f.Severity]++
		r.groups.add(f, isNew)
		if len(seen.Worst) < mostWorst {
			seen.Worst = append(seen.Worst, f)
		}
	}
	for k, isThere := range taken(pairs, len(base.list)) {
		switch f := newFinding(a.Name, base.list[k]); {
		case isThere:
		case now.left > 0 || now.incomplete:
			c.Unknown++
			add(SectionUnknown, nil, f)
		default:
			c.Fixed++
			add(SectionFixed, &r.Fixed, f)
		}
	}
	if seen.Open > 0 || seen.HighRisk {
		r.Assets.add(seen)
	}
	return err
}

// ticketOf is the ticket, or an empty one.
func ticketOf(t *client.Ticket) client.Ticket {
	if t == nil {
		return client.Ticket{}
	}
	return *t
}

// taken says which of the base were matched.
func taken(pairs []int, base int) []bool {
	all := make([]bool, base)
	for _, k := range pairs {
		if k >= 0 {
			all[k] = true
		}
	}
	return all
}

// wasAccepted notes that a finding was accepted before and is not now, or the other way round.
func (f *Finding) wasAccepted(now, before *Acceptance) {
	if (now == nil) == (before == nil) {
		return
	}
	if f.Was == nil {
		f.Was = map[string]any{}
	}
	f.Was["accepted"] = before != nil
	if before != nil && before.Until != "" {
		f.Was["until"] = before.Until
	}
}
