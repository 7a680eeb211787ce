// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// nucleiResult is one line of nuclei's JSONL, of version 2 in its early form too, whose names were written otherwise.
type nucleiResult struct {
	TemplateID string `json:"template-id"`
	EarlyID    string `json:"templateID"`
	Info       struct {
		Name           text  `json:"name"`
		Severity       text  `json:"severity"`
		Tags           texts `json:"tags"`
		Reference      texts `json:"reference"`
		Classification struct {
			CVE     texts  `json:"cve-id"`
			Metrics text   `json:"cvss-metrics"`
			Score   number `json:"cvss-score"`
			EPSS    number `json:"epss-score"`
		} `json:"classification"`
	} `json:"info"`
	MatcherName    text  `json:"matcher-name"`
	EarlyMatcher   text  `json:"matcher_name"`
	Extracted      texts `json:"extracted-results"`
	EarlyExtracted texts `json:"extracted_results"`
	MatchedAt      text  `json:"matched-at"`
	EarlyMatched   text  `json:"matched"`
	Host           text  `json:"host"`
	IP             text  `json:"ip"`
	MatcherStatus  *bool `json:"matcher-status"`
	TemplateURL    text  `json:"template-url"`
	URL            text  `json:"url"`
	Timestamp      text  `json:"timestamp"`
	Error          text  `json:"error"` // why a template could not be tried, with -matcher-status
}

// nucleiRun counts what did not match.
type nucleiRun struct {
	into     *collector
	untried  int
	tried    bool // something was
	complain text // of the first that was not
}

// end refuses a run in which nothing could be tried, and notes what could not be in another.
func (run *nucleiRun) end() error {
	said := fmt.Sprintf("%d templates could not be tried, the first because of: %s", run.untried, run.complain)
	switch {
	case run.untried == 0:
		return nil
	case !run.tried:
		return errors.New(said + ": nothing was scanned")
	}
	run.into.untried(said)
	return nil
}

// parseNuclei reads JSON Lines, or one array. An empty output is that of a scan that matched nothing.
func parseNuclei(src *source, into *collector) error {
	first, err := src.first()
	switch {
	case errors.Is(err, errEmpty):
		into.report.Ended = false
		return nil
	case err != nil:
		return err
	}
	d := &document{src: src, dec: json.NewDecoder(src)}
	run := nucleiRun{into: into}
	if first == '[' {
		if err := list(d, run.add)(); err != nil {
			return err
		}
		return cmp.Or(d.end(), run.end())
	}
	into.report.Ended = false
	for n := 1; ; n++ {
		var r *nucleiResult
		switch err := d.decode(&r); {
		case err == io.EOF:
			return run.end()
		case err != nil:
			return inResult(n, d.explain(err))
		case r == nil:
			return inResult(n, errors.New("is null, should be an object"))
		}
		if err := run.add(r); err != nil {
			return inResult(n, err)
		}
	}
}

func (run *nucleiRun) add(r *nucleiResult) error {
	into, template := run.into, cmp.Or(r.TemplateID, r.EarlyID)
	if template == "" {
		return errors.New("it has no template-id")
	}
	into.hosts(cmp.Or(string(r.Host), string(r.URL), string(r.MatchedAt), string(r.EarlyMatched)), string(r.IP))
	into.madeAt(r.Timestamp)
	unmatched := r.MatcherStatus != nil && !*r.MatcherStatus // -matcher-status prints what did not match too
	if unmatched && r.Error != "" {
		run.untried, run.complain = run.untried+1, text(cmp.Or(string(run.complain), string(r.Error)))
		return nil
	}
	if run.tried = true; unmatched {
		return nil
	}
	class := r.Info.Classification
	f := Finding{
		Severity: string(r.Info.Severity),
		Location: cmp.Or(string(r.MatchedAt), string(r.EarlyMatched), string(r.Host), string(r.IP)),
		EPSS:     class.EPSS.within(1),
		KEV:      slices.Contains(r.Info.Tags, "kev"), // the templates' tag for CISA's catalogue
		URL:      firstLink(append(slices.Clone(r.Info.Reference), string(r.TemplateURL))...),
	}
	f.ID, f.Aliases = identify(append([]string{template}, class.CVE...)...)
	var s scores
	s.add("", class.Score, string(class.Metrics))
	f.CVSS, f.Vector = s.best(), s.unread
	f.Title = cmp.Or(string(r.Info.Name), template)
	what := cmp.Or(string(r.MatcherName), string(r.EarlyMatcher), strings.Join(slices.Concat(r.Extracted, r.EarlyExtracted), ", "))
	if what != "" {
		f.Title += ": " + what
	}
	return into.add(f)
}

func inResult(n int, err error) error { return at("result "+strconv.Itoa(n), err) }
