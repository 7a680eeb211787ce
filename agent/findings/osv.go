// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"slices"
)

// osvSeverity is an element of severity in the OSV schema: a vector for CVSS_V2, CVSS_V3 and CVSS_V4, a word for Ubuntu.
type osvSeverity struct {
	Type  text `json:"type"`
	Score text `json:"score"`
}

// osvVulnerability is the part of an OSV record that counts here.
type osvVulnerability struct {
	ID       text          `json:"id"`
	Aliases  texts         `json:"aliases"`
	Upstream texts         `json:"upstream"` // what a distribution's record is about
	Summary  text          `json:"summary"`
	Details  text          `json:"details"`
	Severity []osvSeverity `json:"severity"`
	Affected []struct {
		Severity []osvSeverity `json:"severity"`
	} `json:"affected"`
	Database struct {
		Severity any `json:"severity"` // a word of GitHub's; anything of others'
	} `json:"database_specific"`
}

// osvGroup holds the ids that are one vulnerability.
type osvGroup struct {
	IDs         texts  `json:"ids"`
	Aliases     texts  `json:"aliases"`
	MaxSeverity number `json:"max_severity"`
}

// osvRecord is what is kept of a record until its package ends, where the groups stand.
type osvRecord struct {
	names           []string
	title, severity string
	scores          scores
}

// parseOSV reads OSV-Scanner's document. Licences are no vulnerabilities, and what call analysis found uncalled still is one.
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
	return d.end()
}

// osvSource reads what was found in one lockfile, SBOM or image.
func osvSource(d *document, into *collector) error {
	var source *struct {
		Path text `json:"path"`
	}
	found := false
	var inside collector
	err := d.object(fields{
		"source":        d.value(&source),
		"packageSource": d.value(&source), // before 1.0
		"packages":      func() error { found = true; return d.array(func() error { return osvPackage(d, &inside) }) },
	})
	if err != nil {
		return err
	}
	if source == nil || !found {
		return errors.New(`it has no "source" and "packages"`)
	}
	for _, f := range inside.list {
		f.Location = string(source.Path)
		if err := into.add(f); err != nil {
			return err
		}
	}
	return nil
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
	err := d.object(fields{
		"package": d.value(&pkg),
		"groups":  d.value(&groups),
		"vulnerabilities": list(d, func(v *osvVulnerability) error {
			if v.ID == "" {
				return errors.New("it has no id")
			}
			order = append(order, string(v.ID))
			records[string(v.ID)] = v.record()
			return over(len(order), "vulnerabilities of one package")
		}),
	})
	if err != nil {
		return err
	}
	for _, id := range order {
		if !slices.ContainsFunc(groups, func(g osvGroup) bool { return slices.Contains(g.IDs, id) }) {
			groups = append(groups, osvGroup{IDs: texts{id}})
		}
	}
	for _, g := range groups {
		f := Finding{Package: join(string(pkg.Name), first(string(pkg.Version), string(pkg.Commit)))}
		var names []string
		var s scores
		for _, id := range g.IDs {
			r := records[id]
			names = append(append(names, id), r.names...)
			f.Title = first(f.Title, r.title)
			f.Severity = worse(f.Severity, r.severity)
			s.newer, s.v2 = max(s.newer, r.scores.newer), max(s.v2, r.scores.v2)
		}
		f.ID, f.Aliases = identify(append(names, g.Aliases...)...)
		if f.CVSS = s.newer; f.CVSS == 0 {
			f.CVSS = max(g.MaxSeverity.within(10), s.v2)
		}
		if err := into.add(f); err != nil {
			return err
		}
	}
	return nil
}

func (v *osvVulnerability) record() osvRecord {
	r := osvRecord{names: append(slices.Clone(v.Aliases), v.Upstream...), title: first(string(v.Summary), string(v.Details))}
	r.severity, _ = v.Database.Severity.(string)
	all := v.Severity
	for _, a := range v.Affected {
		all = append(all, a.Severity...)
	}
	for _, s := range all {
		switch s.Type {
		case "CVSS_V2":
			r.scores.add("2", 0, string(s.Score))
		case "CVSS_V3", "CVSS_V4":
			r.scores.add("3", 0, string(s.Score))
		case "Ubuntu":
			r.severity = first(r.severity, string(s.Score))
		}
	}
	r.title = clean(r.title, maxTitle)
	return r
}
