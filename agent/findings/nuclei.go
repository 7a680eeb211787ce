// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/json"
	"errors"
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
	if first == '[' {
		if err := list(d, func(r *nucleiResult) error { return r.add(into) })(); err != nil {
			return err
		}
		return d.end()
	}
	into.report.Ended = false
	for n := 1; ; n++ {
		var r *nucleiResult
		switch err := d.decode(&r); {
		case err == io.EOF:
			return nil
		case err != nil:
			return inResult(n, d.explain(err))
		case r == nil:
			return inResult(n, errors.New("is null, should be an object"))
		}
		if err := r.add(into); err != nil {
			return inResult(n, err)
		}
	}
}

func (r *nucleiResult) add(into *collector) error {
	template := first(r.TemplateID, r.EarlyID)
	if template == "" {
		return errors.New("it has no template-id")
	}
	into.hosts(first(string(r.Host), string(r.URL), string(r.MatchedAt), string(r.EarlyMatched)), string(r.IP))
	into.madeAt(r.Timestamp)
	if r.MatcherStatus != nil && !*r.MatcherStatus { // -matcher-status prints what did not match too
		return nil
	}
	class := r.Info.Classification
	f := Finding{
		Severity: string(r.Info.Severity),
		Location: first(string(r.MatchedAt), string(r.EarlyMatched), string(r.Host), string(r.IP)),
		EPSS:     class.EPSS.within(1),
		KEV:      slices.Contains(r.Info.Tags, "kev"), // the templates' tag for CISA's catalogue
		URL:      firstLink(append(slices.Clone(r.Info.Reference), string(r.TemplateURL))...),
	}
	f.ID, f.Aliases = identify(append([]string{template}, class.CVE...)...)
	var s scores
	s.add("", class.Score, string(class.Metrics))
	f.CVSS, f.Vector = s.best(), s.unread
	f.Title = first(string(r.Info.Name), template)
	what := first(string(r.MatcherName), string(r.EarlyMatcher))
	if what == "" {
		what = strings.Join(append(slices.Clone(r.Extracted), r.EarlyExtracted...), ", ")
	}
	if what != "" {
		f.Title += ": " + what
	}
	return into.add(f)
}

// firstLink returns the first address that is one.
func firstLink(s ...string) string {
	for _, one := range s {
		if one = link(one); one != "" {
			return one
		}
	}
	return ""
}

// first returns the first that is not empty.
func first(s ...string) string {
	for _, one := range s {
		if one != "" {
			return one
		}
	}
	return ""
}

func inResult(n int, err error) error { return at("result "+strconv.Itoa(n), err) }
