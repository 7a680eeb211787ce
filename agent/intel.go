// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
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

// intelFacts are what the step intel records beside what a command of its own says.
type intelFacts struct {
	KEV       bool               `json:"kev"` // one of the findings is known to be exploited
	KEVIDs    []string           `json:"kev_ids"`
	KEVDate   string             `json:"kev_date,omitempty"`
	EPSS      float64            `json:"epss"` // the highest
	EPSSID    string             `json:"epss_id,omitempty"`
	EPSSDate  string             `json:"epss_date,omitempty"`
	Old       []string           `json:"old,omitempty"`       // catalogues that were old
	Unchecked *int               `json:"unchecked,omitempty"` // CVEs that could not be asked for; nil when a command does not say
	Omitted   int                `json:"omitted,omitempty"`
	Findings  []findings.Finding `json:"findings"` // those of vuln, with what is known of them

	said figures // what a command says of its own figures
}

// intel asks the catalogues about every finding.
func (j *job) intel(ctx context.Context) (result, error) {
	if j.a.plan.intel != nil {
		out, err := j.ownResult(ctx, j.a.plan.intel, j.a.config.Step.Intel.OKExit)
		if err == nil {
			if _, err = readIntelFacts(out.Facts); err != nil {
				err = fmt.Errorf("its facts cannot be used: %w", err)
			}
		}
		return out, err
	}
	e, err := evidenceOf(j.ticket)
	if err != nil {
		return result{}, err
	}
	k := j.a.shelf.current()
	f := intelFacts{KEVIDs: []string{}, Old: k.old, Unchecked: &e.unlisted}
	if k.kev != nil {
		f.KEVDate = k.kev.Date().Format(time.DateOnly)
	}
	if k.epss != nil {
		f.EPSSDate = k.epss.Date().Format(time.DateOnly)
	}
	all := slices.Clone(e.findings)
	for i := range all {
		for _, id := range all[i].CVEs() {
			exploited, score := k.ask(&f, id)
			all[i].KEV, all[i].EPSS = all[i].KEV || exploited, max(all[i].EPSS, score)
		}
	}
	for _, id := range e.omitted {
		k.ask(&f, id)
	}
	f.Findings, f.Omitted = fitting(all, maxAnnotated)
	facts, err := plain.JSON(f)
	return result{client.StateVulnCheckDone, facts, f.sentence()}, err
}

// readIntelFacts reads what the step intel says, which a command may have written.
func readIntelFacts(facts json.RawMessage) (f intelFacts, err error) {
	if len(facts) == 0 {
		return f, nil
	}
	if err := factsForm.check(facts); err != nil {
		return f, err
	}
	var m members
	if err := json.Unmarshal(facts, &m); err != nil {
		return f, errors.New("they are not an object")
	}
	said, err := readFigures(m)
	f.KEV, f.KEVIDs, f.EPSS, f.Omitted, f.said = said.KEV, said.KEVIDs, said.EPSS, said.Omitted, said.figures
	const texts = "a list of texts"
	err = cmp.Or(
		err, toldError(facts), m.member("kev_date", &f.KEVDate, "text"), m.member("epss_id", &f.EPSSID, "text"), m.member("epss_date", &f.EPSSDate, "text"),
		m.member("old", &f.Old, texts), m.member("unchecked", &f.Unchecked, "a whole number"),
	)
	switch list := m["findings"]; {
	case err != nil:
	case list != nil && string(list) != "null":
		f.Findings, err = findings.Parse(plainFindings, bytes.NewReader(facts))
	}
	return f, err
}

// ask looks a CVE up and notes in f what is known of it.
func (k catalogues) ask(f *intelFacts, id string) (exploited bool, score float64) {
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

func (f intelFacts) sentence() string {
	said := []string{"none is known to be exploited"}
	if f.KEV {
		said[0] = "known to be exploited: " + briefList(f.KEVIDs, 3)
	} else if f.KEVDate == "" {
		said = nil
	}
	if f.EPSSID != "" {
		said = append(said, fmt.Sprintf("EPSS up to %g (%s)", f.EPSS, f.EPSSID))
	}
	return strings.Join(said, ", ")
}

// briefList names the first few.
func briefList(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// ownResult runs a command that speaks Picket's own form.
func (j *job) ownResult(ctx context.Context, c *command, okExit []int) (result, error) {
	var out result
	err := j.command(ctx, c, okExit, maxOwn, false, func(r io.Reader) (err error) {
		out, err = readOwn(r)
		return err
	})
	return out, err
}
