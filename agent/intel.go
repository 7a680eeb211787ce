// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// oldCatalogue is the age from which a catalogue is warned about: CISA adds to its own several times a week, FIRST publishes
// scores daily.
const oldCatalogue = 7 * 24 * time.Hour

// catalogues are the files of threat intelligence, indexed once.
type catalogues struct {
	kev  *findings.KEV
	epss *findings.EPSS
	old  []string // which of them are older than oldCatalogue
}

// openCatalogues reads what is configured. What is older than max_age is an ErrConfig.
func openCatalogues(c IntelConfig, now time.Time, log *slog.Logger) (catalogues, error) {
	var k catalogues
	var wrong strict.Error
	var err error
	if c.KEV != "" {
		if k.kev, err = findings.OpenKEV(c.KEV); err == nil {
			err = k.age("kev", c.KEV, k.kev.Date(), c, now, log)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("step.intel.kev: %v", err))
		}
	}
	if c.EPSS != "" {
		if k.epss, err = findings.OpenEPSS(c.EPSS); err == nil {
			err = k.age("epss", c.EPSS, k.epss.Date(), c, now, log)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("step.intel.epss: %v", err))
		}
	}
	if len(wrong) > 0 {
		return k, wrong
	}
	return k, nil
}

func (k *catalogues) age(key, path string, date time.Time, c IntelConfig, now time.Time, log *slog.Logger) error {
	age := now.Sub(date)
	if c.MaxAge > 0 && age > time.Duration(c.MaxAge) {
		return fmt.Errorf("%s is of %s, which is older than max_age (%s): fetch a newer one", path, date.Format(time.DateOnly), c.MaxAge)
	}
	if age > oldCatalogue {
		k.old = append(k.old, key)
		log.Warn("a catalogue of threat intelligence is old", "key", key, "file", path, "date", date.Format(time.DateOnly))
	}
	return nil
}

// intel asks the catalogues about every finding.
func (j *job) intel(ctx context.Context) (verdict.Record, error) {
	if j.a.plan.intel != nil {
		out, err := j.ownResult(ctx, j.a.plan.intel, j.a.config.Step.Intel.OKExit)
		if err == nil {
			if _, err = verdict.ReadIntelFacts(out.Facts); err != nil {
				err = fmt.Errorf("its facts cannot be used: %w", err)
			}
		}
		return out, err
	}
	e, err := verdict.EvidenceOf(j.ticket)
	if err != nil {
		return verdict.Record{}, err
	}
	k := j.a.shelf.current()
	f := verdict.IntelFacts{KEVIDs: []string{}, Old: k.old, Unchecked: &e.Unlisted}
	if k.kev != nil {
		f.KEVDate = k.kev.Date().Format(time.DateOnly)
	}
	if k.epss != nil {
		f.EPSSDate = k.epss.Date().Format(time.DateOnly)
	}
	all := slices.Clone(e.Findings)
	for i := range all {
		for _, id := range all[i].CVEs() {
			exploited, score := k.ask(&f, id)
			all[i].KEV, all[i].EPSS = all[i].KEV || exploited, max(all[i].EPSS, score)
		}
	}
	for _, id := range e.Omitted {
		k.ask(&f, id)
	}
	f.Findings, f.Omitted = verdict.Fitting(all, verdict.MaxAnnotated)
	facts, err := plain.JSON(f)
	return verdict.Record{State: client.StateVulnCheckDone, Facts: facts, Summary: f.Sentence()}, err
}

// ask looks a CVE up and notes in f what is known of it.
func (k catalogues) ask(f *verdict.IntelFacts, id string) (exploited bool, score float64) {
	if k.kev != nil && k.kev.Has(id) {
		exploited, f.KEV = true, true
		if !slices.Contains(f.KEVIDs, id) && len(f.KEVIDs) < 100 {
			f.KEVIDs = append(f.KEVIDs, id)
		}
	}
	if k.epss != nil {
		score, _ = k.epss.Score(id)
		if score > f.EPSS {
			f.EPSS, f.EPSSID = score, id
		}
	}
	return exploited, score
}

// ownResult runs a command that speaks Picket's own form.
func (j *job) ownResult(ctx context.Context, c *command, okExit []int) (verdict.Record, error) {
	var out verdict.Record
	err := j.command(ctx, c, okExit, maxOwn, false, func(r io.Reader) (err error) {
		out, err = verdict.ReadOwn(r)
		return err
	})
	return out, err
}
