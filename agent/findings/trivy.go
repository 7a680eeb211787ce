// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

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
		return fmt.Errorf("its SchemaVersion is %s, known is 2", plain.Line(string(version), maxID))
	case !t.seen:
		return errors.New(`it has none of "SchemaVersion", "Results" and "ClusterName"`)
	case t.targets == 0 && meta.unknown() && packaged(kind):
		return errors.New("it knows neither the operating system nor any package: nothing was scanned")
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
			return fmt.Errorf("trivy could not scan it: %s", plain.Line(string(failure), maxTitle))
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
				ID: string(s.RuleID), Severity: string(s.Severity), Title: string(s.Title), Location: trivyLine(s.StartLine),
			})
		}),
		"Licenses": list(t.document, func(l *trivyLicense) error { return take(l.finding()) }),
	})
}

// within names a place inside another.
func within(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + ": " + inner
}
