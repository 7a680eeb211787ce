// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// trivyVulnerability is one of Results[].Vulnerabilities.
type trivyVulnerability struct {
	VulnerabilityID  text
	VendorIDs        texts
	FixedVersion     text
	PrimaryURL       text
	References       texts
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
	ID, AVDID, Namespace, Title, Message, Severity, Status, PrimaryURL text
	CauseMetadata                                                      struct{ StartLine number }
}

// trivySecret is one of Results[].Secrets; what was found is left where it is.
type trivySecret struct {
	RuleID, Title, Severity text
	StartLine               number
}

// trivyLicense is one of Results[].Licenses. They are looked for only where somebody asked for it.
type trivyLicense struct {
	Severity, Category, PkgName, FilePath, Name, Link text
}

// trivyMetadata is what Trivy knows of an image, a machine or a list of packages.
type trivyMetadata struct {
	OS struct {
		Family, Name text
		EOSL         bool
	}
	RepoTags, RepoDigests texts
}

// trivy reads one report, of an artifact or of a cluster.
type trivy struct {
	*document
	into    *collector
	seen    bool // something that only Trivy writes
	targets int  // in Results
}

// parseTrivy reads schema version 2, the array of results that was there before it, and the reports of trivy k8s.
func parseTrivy(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	t := &trivy{document: d, into: into}
	if b, _ := src.first(); b == '[' {
		if err := t.results(); err != nil {
			return err
		}
		if t.targets == 0 {
			return errors.New("it has no results: nothing was scanned")
		}
		return d.end()
	}
	version, clustered := text("2"), false
	var name, kind, created, cluster text
	var meta trivyMetadata
	resources := func() error { return d.array(t.resource) }
	err = d.object(fields{
		"SchemaVersion":     func() error { t.seen = true; return d.value(&version)() },
		"Results":           func() error { t.seen = true; return t.results() },
		"ArtifactName":      d.value(&name),
		"ArtifactType":      d.value(&kind),
		"CreatedAt":         d.value(&created),
		"Metadata":          t.metadata(&meta),
		"ClusterName":       func() error { t.seen, clustered = true, true; return d.value(&cluster)() },
		"Resources":         resources,
		"Findings":          resources,
		"Vulnerabilities":   resources, // before trivy 0.30
		"Misconfigurations": resources,
	})
	switch {
	case err != nil:
		return err
	case version != "2" && (version != "0" || !clustered): // a report of trivy k8s may leave it 0
		return fmt.Errorf("its SchemaVersion is %s, known is 2", clean(string(version), maxID))
	case !t.seen:
		return errors.New(`it has none of "SchemaVersion", "Results" and "ClusterName"`)
	case t.targets == 0 && meta.unknown() && packaged(kind):
		return errors.New("Trivy knew neither the operating system nor any package: nothing was scanned")
	}
	into.madeAt(created)
	if kind == "container_image" {
		into.image(slices.Concat([]string{string(name)}, meta.RepoTags, meta.RepoDigests)...)
	}
	into.target(string(cluster))
	if meta.OS.EOSL {
		into.note(fmt.Sprintf("%s %s is not supported any more: what was found since is not known of it", meta.OS.Family, meta.OS.Name))
	}
	return d.end()
}

// metadata reads what an artifact's is; a cluster's are of another form, and say nothing here.
func (t *trivy) metadata(m *trivyMetadata) func() error {
	return func() error {
		var raw json.RawMessage
		if err := t.value(&raw)(); err != nil || !bytes.HasPrefix(raw, []byte("{")) {
			return err
		}
		return t.explain(json.Unmarshal(raw, m))
	}
}

// unknown says that no system was found.
func (m trivyMetadata) unknown() bool { return m.OS.Family == "" || m.OS.Family == "none" }

// packaged says whether an artifact is of a kind in which there is nothing to look at but a system and packages: of a folder,
// files are looked at, too.
func packaged(kind text) bool {
	return slices.Contains([]text{"container_image", "vm", "cyclonedx", "spdx"}, kind)
}

// image names an image as a target. A name of a file says nothing of whose it is.
func (c *collector) image(names ...string) {
	c.target(slices.DeleteFunc(names, func(s string) bool {
		return strings.HasPrefix(s, "/") || strings.HasPrefix(s, ".") || strings.Contains(s, ".tar") || strings.HasSuffix(s, ".tgz")
	})...)
}

// resource reads what was found in one resource of a cluster, whose name may come behind it.
func (t *trivy) resource() error {
	var namespace, name, failure text
	var kind *text
	outer := t.into
	defer func() { t.into = outer }()
	return outer.inside(func(inner *collector) error {
		t.into = inner
		err := t.object(fields{
			"Namespace": t.value(&namespace),
			"Kind":      t.value(&kind),
			"Name":      t.value(&name),
			"Error":     t.value(&failure),
			"Results":   t.results,
		})
		switch {
		case err != nil:
			return err
		case kind == nil:
			return errors.New("it has no Kind")
		case failure != "":
			return fmt.Errorf("trivy could not scan it: %s", clean(string(failure), maxTitle))
		}
		return nil
	}, func(f *Finding) {
		f.Location = within(join(string(namespace), string(*kind), string(name)), f.Location)
	})
}

// results reads the list of results.
func (t *trivy) results() error { return t.array(t.result) }

// result reads what was found in one target, whose name may come behind it.
func (t *trivy) result() error {
	var target *text
	t.targets++
	return t.into.inside(func(inner *collector) error {
		err := t.found(&target, inner.add)
		if err == nil && target == nil {
			err = errors.New("it has no Target")
		}
		return err
	}, func(f *Finding) { f.Location = within(string(*target), f.Location) })
}

// found reads the kinds of findings in a target.
func (t *trivy) found(target **text, take func(Finding) error) error {
	return t.object(fields{
		"Target": t.value(target),
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
		"Licenses": list(t.document, func(l *trivyLicense) error { return take(l.finding()) }),
	})
}

// licensed is what an id of a licence begins with.
const licensed = "license:"

func (l *trivyLicense) finding() Finding {
	title := "License " + string(l.Name)
	if l.Category != "" {
		title += " is " + string(l.Category)
	}
	return Finding{
		ID: licensed + string(l.Name), Severity: string(l.Severity), Title: title, Package: string(l.PkgName), Location: string(l.FilePath), URL: string(l.Link),
	}
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
		FixedIn: string(v.FixedVersion), URL: firstLink(append(texts{string(v.PrimaryURL)}, v.References...)...),
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
	f.CVSS, f.Vector = s.best(), s.unread
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
	f := Finding{Severity: string(m.Severity), Title: given(m.Title), Location: line(m.CauseMetadata.StartLine), URL: string(m.PrimaryURL)}
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
