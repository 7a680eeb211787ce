// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// trivyVulnerability is one of Results[].Vulnerabilities.
type trivyVulnerability struct {
	VulnerabilityID  text
	VendorIDs        texts
	PkgName          text
	PkgPath          text
	InstalledVersion text
	Status           text
	Title            text
	Description      text
	Severity         text
	VendorSeverity   map[string]number // of each source: 0 unknown to 4 critical
	CVSS             map[string]struct {
		V2Vector, V3Vector, V40Vector text
		V2Score, V3Score, V40Score    number
	}
}

// trivyMisconfiguration is one of Results[].Misconfigurations.
type trivyMisconfiguration struct {
	ID, AVDID, Namespace, Title, Message, Severity, Status text
	CauseMetadata                                          struct{ StartLine number }
}

// trivySecret is one of Results[].Secrets; what was found is left where it is.
type trivySecret struct {
	RuleID, Title, Severity text
	StartLine               number
}

// trivy reads one report, of an artifact or of a cluster.
type trivy struct {
	*document
	add  func(Finding) error
	seen bool // something that only Trivy writes
}

// parseTrivy reads schema version 2, the array of results that was there before it, and the reports of trivy k8s.
func parseTrivy(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	t := &trivy{document: d, add: into.add}
	if b, _ := src.first(); b == '[' {
		if err := t.results(); err != nil {
			return err
		}
		return d.end()
	}
	version, cluster := text("2"), false
	resources := func() error { return d.array(t.resource) }
	err = d.object(fields{
		"SchemaVersion":     func() error { t.seen = true; return d.value(&version)() },
		"Results":           func() error { t.seen = true; return t.results() },
		"ClusterName":       func() error { t.seen, cluster = true, true; return d.skip() },
		"Resources":         resources,
		"Findings":          resources,
		"Vulnerabilities":   resources, // before trivy 0.30
		"Misconfigurations": resources,
	})
	switch {
	case err != nil:
		return err
	case version != "2" && (version != "0" || !cluster): // a report of trivy k8s may leave it 0
		return fmt.Errorf("its SchemaVersion is %s, known is 2", clean(string(version), maxID))
	case !t.seen:
		return errors.New(`it has none of "SchemaVersion", "Results" and "ClusterName"`)
	}
	return d.end()
}

// resource reads what was found in one resource of a cluster, whose name may come behind it.
func (t *trivy) resource() error {
	var namespace, name, failure text
	var kind *text
	var inside collector
	outer := t.add
	t.add = inside.add
	err := t.object(fields{
		"Namespace": t.value(&namespace),
		"Kind":      t.value(&kind),
		"Name":      t.value(&name),
		"Error":     t.value(&failure),
		"Results":   t.results,
	})
	t.add = outer
	if err != nil {
		return err
	}
	if kind == nil {
		return errors.New("it has no Kind")
	}
	if failure != "" {
		return fmt.Errorf("trivy could not scan it: %s", clean(string(failure), maxTitle))
	}
	for _, f := range inside.list {
		f.Location = within(join(string(namespace), string(*kind), string(name)), f.Location)
		if err := t.add(f); err != nil {
			return err
		}
	}
	return nil
}

// results reads the list of results.
func (t *trivy) results() error { return t.array(t.result) }

// result reads what was found in one target, whose name may come behind it.
func (t *trivy) result() error {
	var target *text
	var pending []Finding
	take := func(f Finding) error {
		f.Title = clean(f.Title, maxTitle)
		pending = append(pending, f)
		return over(len(pending), "findings in one target")
	}
	err := t.object(fields{
		"Target": t.value(&target),
		"Vulnerabilities": list(t.document, func(v *trivyVulnerability) error {
			if v.VulnerabilityID == "" {
				return errors.New("it has no VulnerabilityID")
			}
			if v.Status == "not_affected" {
				return nil
			}
			return take(v.finding())
		}),
		"Misconfigurations": list(t.document, func(m *trivyMisconfiguration) error {
			if m.Status != "" && m.Status != "FAIL" {
				return nil
			}
			return take(m.finding())
		}),
		"Secrets": list(t.document, func(s *trivySecret) error {
			return take(Finding{
				ID: string(s.RuleID), Severity: string(s.Severity), Title: string(s.Title), Location: line(s.StartLine),
			})
		}),
	})
	if err != nil {
		return err
	}
	if target == nil {
		return errors.New("it has no Target")
	}
	for _, f := range pending {
		f.Location = within(string(*target), f.Location)
		if err := t.add(f); err != nil {
			return err
		}
	}
	return nil
}

// within names a place inside another.
func within(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + ": " + inner
}

func (v *trivyVulnerability) finding() Finding {
	f := Finding{
		Severity: string(v.Severity), Title: first(string(v.Title), string(v.Description)),
		Package: join(string(v.PkgName), string(v.InstalledVersion)), Location: string(v.PkgPath),
	}
	f.ID, f.Aliases = identify(append([]string{string(v.VulnerabilityID)}, v.VendorIDs...)...)
	if severity(f.Severity) == "unknown" {
		var worst number
		for _, n := range v.VendorSeverity {
			worst = max(worst, n)
		}
		if worst >= 1 && worst <= 4 {
			f.Severity = []string{"low", "medium", "high", "critical"}[int(worst)-1]
		}
	}
	var s scores
	for _, c := range v.CVSS {
		s.add("2", c.V2Score, string(c.V2Vector))
		s.add("3", c.V3Score, string(c.V3Vector))
		s.add("4", c.V40Score, string(c.V40Vector))
	}
	f.CVSS = s.best()
	return f
}

// finding names a policy by its namespace where it has no id, for what people write themselves without metadata has "N/A" for
// an id and a title. One policy may find several things in a file, which its messages tell apart.
func (m *trivyMisconfiguration) finding() Finding {
	given := func(s text) string {
		if s == "N/A" {
			return ""
		}
		return string(s)
	}
	f := Finding{Severity: string(m.Severity), Title: given(m.Title), Location: line(m.CauseMetadata.StartLine)}
	if message := given(m.Message); message != "" && message != f.Title {
		f.Title = strings.TrimPrefix(f.Title+": "+message, ": ")
	}
	f.ID, f.Aliases = identify(given(m.ID), given(m.AVDID))
	f.ID = first(f.ID, given(m.Namespace), string(m.ID))
	return marked(f, string(m.Namespace), string(m.Message))
}

// line is the place of a line within a target.
func line(n number) string {
	if n < 1 || n > 1e9 {
		return ""
	}
	return "line " + strconv.Itoa(int(n))
}
