// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

type sarifText struct {
	Text text `json:"text"`
}

// sarifBag is a bag of properties, in which anything may stand.
type sarifBag map[string]json.RawMessage

// score reads "security-severity", which GitHub made the place for a score from 0 to 10.
func (b sarifBag) score() float64 {
	var n number
	if raw := b["security-severity"]; raw != nil {
		_ = n.UnmarshalJSON(raw)
	}
	return n.within(10)
}

// sarifRule is a reportingDescriptor.
type sarifRule struct {
	ID            text      `json:"id"`
	Name          text      `json:"name"`
	Short         sarifText `json:"shortDescription"`
	DeprecatedIDs texts     `json:"deprecatedIds"`
	Properties    sarifBag  `json:"properties"`
	Default       struct {
		Level text `json:"level"`
	} `json:"defaultConfiguration"`
}

// rule is what is kept of a sarifRule.
type rule struct {
	id, title, level string
	aliases          []string
	score            float64
}

// sarifRun is what is kept of a run until it ends, for its rules may come behind its results.
type sarifRun struct {
	rules     [][]rule // of the driver, then of each extension
	byID      map[string]rule
	artifacts []string
	results   []result
}

// parseSARIF reads a log of version 2.1.0.
func parseSARIF(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	var version text
	found, runs := false, 0
	err = d.object(fields{
		"version": d.value(&version),
		"runs": func() error {
			found = true
			return d.must(func() error {
				return d.array(func() error { runs++; return parseRun(d, into) })
			})
		},
	})
	switch {
	case err != nil:
		return err
	case version != "2.1.0" && !strings.HasPrefix(string(version), "2.1.0-"):
		return fmt.Errorf("its version is %q, known is 2.1.0", clean(string(version), maxID))
	case !found:
		return errors.New(`it has no "runs"`)
	case runs == 0:
		return errors.New(`its "runs" are empty: nothing was scanned`)
	}
	return d.end()
}

func parseRun(d *document, into *collector) error {
	run := sarifRun{rules: [][]rule{nil}, byID: map[string]rule{}}
	hasResults := false
	err := d.object(fields{
		"tool": func() error {
			return d.object(fields{
				"driver":     run.component(d, 0),
				"extensions": func() error { return d.array(func() error { return run.component(d, len(run.rules))() }) },
			})
		},
		"artifacts": list(d, func(a *struct {
			Location sarifArtifact `json:"location"`
		},
		) error {
			run.artifacts = append(run.artifacts, clean(string(a.Location.URI), maxPlace))
			return over(len(run.artifacts), "artifacts")
		}),
		"invocations": list(d, func(i *struct {
			Successful *bool `json:"executionSuccessful"`
		},
		) error {
			if i.Successful != nil && !*i.Successful {
				return errors.New("it says executionSuccessful = false: the scan is not complete")
			}
			return nil
		}),
		"results": func() error {
			hasResults = true
			return d.must(list(d, run.keep))
		},
	})
	if err != nil {
		return err
	}
	if !hasResults { // the standard wants an empty list where a scan found nothing
		return errors.New(`it has no "results": nothing was scanned, or they are in another file`)
	}
	for _, r := range run.results {
		if err := into.add(run.finding(r)); err != nil {
			return err
		}
	}
	return nil
}

// component reads the rules of the driver, which is component 0, or of an extension.
func (run *sarifRun) component(d *document, n int) func() error {
	return func() error {
		if n == len(run.rules) {
			run.rules = append(run.rules, nil)
		}
		return d.object(fields{"rules": list(d, func(r *sarifRule) error {
			kept := rule{
				id:      string(r.ID),
				title:   clean(first(string(r.Short.Text), string(r.Name)), maxTitle),
				level:   string(r.Default.Level),
				aliases: r.DeprecatedIDs,
				score:   r.Properties.score(),
			}
			run.rules[n] = append(run.rules[n], kept)
			run.byID[kept.id] = kept
			return over(len(run.byID), "rules")
		})})
	}
}
