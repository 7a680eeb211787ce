// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// osvSeverity is an element of severity in the OSV schema: a vector for CVSS_V2, CVSS_V3 and CVSS_V4, a word for Ubuntu.
type osvSeverity struct {
	Type  text `json:"type"`
	Score text `json:"score"`
}

// osvVulnerability is the part of an OSV record that counts here.
type osvVulnerability struct {
	ID         text  `json:"id"`
	Aliases    texts `json:"aliases"`
	Upstream   texts `json:"upstream"` // what a distribution's record is about
	References []struct {
		Type text `json:"type"`
		URL  text `json:"url"`
	} `json:"references"`
	Summary  text          `json:"summary"`
	Details  text          `json:"details"`
	Severity []osvSeverity `json:"severity"`
	Affected []osvAffected `json:"affected"`
	Database struct {
		Severity any `json:"severity"` // a word of GitHub's; anything of others'
	} `json:"database_specific"`
}

// osvAffected is one package that a record is about.
type osvAffected struct {
	Package struct {
		Name text `json:"name"`
	} `json:"package"`
	Ranges []struct {
		Type   text `json:"type"`
		Events []struct {
			Fixed text `json:"fixed"`
		} `json:"events"`
	} `json:"ranges"`
	Severity []osvSeverity `json:"severity"`
}

// osvGroup holds the ids that are one vulnerability.
type osvGroup struct {
	IDs         texts  `json:"ids"`
	Aliases     texts  `json:"aliases"`
	MaxSeverity number `json:"max_severity"`
}

// osvRecord is what is kept of a record until its package ends, where the groups stand.
type osvRecord struct {
	names                []string
	title, severity, url string
	fixed                map[string]string // versions, by the package's name
	scores               scores
}

// maxGrouped bounds the names of all groups of one package, for a record may stand in many.
const maxGrouped = 1_000_000

// parseOSV reads OSV-Scanner's document. A licence that was not allowed is a finding, and so is what call analysis found
// uncalled.
func parseOSV(src *source, into *collector) error {
	d, err := newDocument(src)
	if errors.Is(err, errEmpty) {
		return fmt.Errorf("%w, and OSV-Scanner prints nothing only when it failed or found no packages to look at; "+
			"with --allow-no-lockfiles the latter is a result", err)
	}
	if err != nil {
		return err
	}
	found, foreign := false, ""
	known := fields{
		"results": func() error { found = true; return d.array(func() error { return osvSource(d, into) }) },
	}
	generic := 0
	known["experimental_generic_findings"] = func() error {
		return d.array(func() error { generic++; return d.skip() })
	}
	for _, name := range []string{"errors", "paths", "version", "metrics", "generated_at", "summary", "plugins_used", "totals"} {
		known[name] = func() error { foreign = name; return d.skip() } // Semgrep, Bandit and others have results too
	}
	err = d.object(known)
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New(`it has no "results"`)
	case foreign != "":
		return fmt.Errorf("it has %q, which OSV-Scanner does not write", foreign)
	}
	if generic > 0 {
		into.note(fmt.Sprintf("what it found without a package is not counted (experimental_generic_findings: %d)", generic))
	}
	return d.end()
}

// osvSource reads what was found in one lockfile, SBOM or image.
func osvSource(d *document, into *collector) error {
	var source *struct {
		Path text `json:"path"`
	}
	found := false
	return into.inside(func(inner *collector) error {
		err := d.object(fields{
			"source":        d.value(&source),
			"packageSource": d.value(&source), // before 1.0
			"packages":      func() error { found = true; return d.array(func() error { return osvPackage(d, inner) }) },
		})
		if err == nil && (source == nil || !found) {
			err = errors.New(`it has no "source" and "packages"`)
		}
		return err
	}, func(f *Finding) { f.Location = string(source.Path) })
}

func osvPackage(d *document, into *collector) error {
	var pkg struct {
		Name    text `json:"name"`
		Version text `json:"version"`
		Commit  text `json:"commit"`
	}
	records := map[string]osvRecord{}
	var order []string
	var groups []osvGroup
	var unwanted texts
	err := d.object(fields{
		"package":            d.value(&pkg),
		"groups":             d.value(&groups),
		"license_violations": d.value(&unwanted),
		"vulnerabilities": list(d, func(v *osvVulnerability) error {
			if v.ID == "" {
				return errors.New("it has no id")
			}
			order = append(order, string(v.ID))
			r := v.record()
			records[string(v.ID)] = r
			return cmp.Or(into.take(append(r.names, r.title)...), over(len(order), "vulnerabilities of one package"))
		}),
	})
	if err != nil {
		return err
	}
	grouped := map[string]bool{}
	for _, g := range groups {
		for _, id := range g.IDs {
			grouped[id] = true
		}
	}
	for _, id := range order {
		if !grouped[id] {
			grouped[id] = true
			groups = append(groups, osvGroup{IDs: texts{id}})
		}
	}
	name, names := string(pkg.Name), 0
	in := join(name, cmp.Or(string(pkg.Version), string(pkg.Commit)))
	for _, g := range groups {
		f, n := g.finding(records, name)
		if names += n; names > maxGrouped {
			return fmt.Errorf("the number of names in the groups of one package %w of %d", errLimit, maxGrouped)
		}
		f.Package = in
		if err := into.add(f); err != nil {
			return err
		}
	}
	for _, licence := range unwanted {
		if err := into.add(Finding{ID: licensed + licence, Title: "License " + licence + " is not among those that are allowed", Package: in}); err != nil {
			return err
		}
	}
	return nil
}

// finding makes one of all records in a group, of which it returns the number of names.
func (g osvGroup) finding(records map[string]osvRecord, pkg string) (f Finding, names int) {
	var all []string
	var s scores
	seen := map[string]bool{}
	for _, id := range g.IDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		r := records[id]
		if all = append(append(all, id), r.names...); len(all) > maxGrouped {
			return f, len(all)
		}
		f.Title = cmp.Or(f.Title, r.title)
		f.FixedIn, f.URL = cmp.Or(f.FixedIn, r.fixed[pkg]), cmp.Or(f.URL, r.url)
		f.Severity = worse(f.Severity, r.severity)
		s.merge(r.scores)
	}
	f.ID, f.Aliases = identify(append(all, g.Aliases...)...)
	if f.CVSS = s.newer; f.CVSS == 0 {
		f.CVSS = max(g.MaxSeverity.within(10), s.v2)
	}
	f.Vector = s.unread
	return f, len(all) + len(g.Aliases)
}

func (v *osvVulnerability) record() osvRecord {
	r := osvRecord{names: append(slices.Clone(v.Aliases), v.Upstream...), title: cmp.Or(string(v.Summary), string(v.Details))}
	r.severity, _ = v.Database.Severity.(string)
	all := v.Severity
	for _, a := range v.Affected {
		all = append(all, a.Severity...)
		if fixed := a.fixed(); fixed != "" {
			if r.fixed == nil {
				r.fixed = map[string]string{}
			}
			r.fixed[string(a.Package.Name)] = versions([]string{r.fixed[string(a.Package.Name)], fixed})
		}
	}
	for _, s := range all {
		if version, ok := strings.CutPrefix(string(s.Type), "CVSS_V"); ok {
			r.scores.add(version, 0, string(s.Score))
		} else if severity(string(s.Score)) != "unknown" { // Ubuntu's
			r.severity = cmp.Or(r.severity, string(s.Score))
		}
	}
	r.title = plain.Line(r.title, maxTitle)
	r.url = v.link()
	return r
}

// fixed are the versions that mend a package; of a range of commits there are none.
func (a osvAffected) fixed() string {
	var all []string
	for _, r := range a.Ranges {
		for _, e := range r.Events {
			if r.Type != "GIT" {
				all = append(all, plain.Line(string(e.Fixed), maxID))
			}
		}
	}
	return plain.Line(versions(all), maxID)
}

// link is the advisory among the references, else the first of them, else the record's own page.
func (v *osvVulnerability) link() string {
	var all []string
	for _, r := range v.References {
		if r.Type == "ADVISORY" {
			all = append([]string{string(r.URL)}, all...)
		} else {
			all = append(all, string(r.URL))
		}
	}
	return firstLink(append(all, "https://osv.dev/vulnerability/"+url.PathEscape(string(v.ID)))...)
}
