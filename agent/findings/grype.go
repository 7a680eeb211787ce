// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// grypeVulnerability is what Grype says of one id.
type grypeVulnerability struct {
	ID          text  `json:"id"`
	Severity    text  `json:"severity"`
	Description text  `json:"description"`
	DataSource  text  `json:"dataSource"`
	URLs        texts `json:"urls"`
	Fix         struct {
		Versions texts `json:"versions"`
	} `json:"fix"`
	CVSS []struct {
		Version text `json:"version"`
		Vector  text `json:"vector"`
		Metrics struct {
			BaseScore number `json:"baseScore"`
		} `json:"metrics"`
	} `json:"cvss"`
	CVSS2 grypeScore `json:"cvssV2"` // before Grype 0.6
	CVSS3 grypeScore `json:"cvssV3"`
	EPSS  []struct {
		CVE  text   `json:"cve"`
		EPSS number `json:"epss"`
	} `json:"epss"`
	KnownExploited []struct {
		CVE text `json:"cve"`
	} `json:"knownExploited"`
}

type grypeScore struct {
	BaseScore number `json:"baseScore"`
	Vector    text   `json:"vector"`
}

// grypeMatch is one of matches.
type grypeMatch struct {
	Vulnerability grypeVulnerability   `json:"vulnerability"`
	Related       []grypeVulnerability `json:"relatedVulnerabilities"` // the same one, elsewhere: the CVE of a GHSA
	Artifact      struct {
		Name      text `json:"name"`
		Version   text `json:"version"`
		Locations []struct {
			Path text `json:"path"`
		} `json:"locations"`
	} `json:"artifact"`
}

// grypeTarget names an image. A folder or a file says nothing of whose it is.
func grypeTarget(kind text, target json.RawMessage, into *collector) error {
	var image struct {
		UserInput      text  `json:"userInput"`
		ImageID        text  `json:"imageID"`
		ManifestDigest text  `json:"manifestDigest"`
		Tags           texts `json:"tags"`
		RepoDigests    texts `json:"repoDigests"`
	}
	if kind != "image" {
		return nil
	}
	if err := json.Unmarshal(target, &image); err != nil {
		return errors.New("its target is not that of an image")
	}
	into.image(slices.Concat([]string{string(image.UserInput), string(image.ImageID), string(image.ManifestDigest)}, image.Tags, image.RepoDigests)...)
	return nil
}

// grypeAlerts are what Grype could not tell of a package, because its distribution is not supported any more, or not known.
type grypeAlerts struct {
	Alerts []struct {
		Type    text `json:"type"`
		Message text `json:"message"`
	} `json:"alerts"`
}

// parseGrype reads Grype's document. What its own rules or a VEX file ignore stands in ignoredMatches, and is no finding.
func parseGrype(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	found := false
	var descriptor struct {
		Name      text `json:"name"`
		Timestamp text `json:"timestamp"`
	}
	var kind text
	var target json.RawMessage
	err = d.object(fields{
		"matches": func() error {
			found = true
			return d.must(list(d, func(m *grypeMatch) error { return m.add(into) })) // Grype writes [] where it found nothing
		},
		"descriptor": d.value(&descriptor),
		"source": func() error {
			if err := d.object(fields{"type": d.value(&kind), "target": d.value(&target)}); err != nil {
				return err
			}
			return grypeTarget(kind, target, into)
		},
		"alertsByPackage": list(d, func(a *grypeAlerts) error {
			for _, one := range a.Alerts {
				into.note("Grype warns: " + cmp.Or(string(one.Message), string(one.Type)))
			}
			return nil
		}),
	})
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New(`it has no "matches"`)
	case descriptor.Name != "" && descriptor.Name != "grype":
		return fmt.Errorf("its descriptor names %s", plain.Line(string(descriptor.Name), maxID))
	}
	into.madeAt(descriptor.Timestamp)
	return d.end()
}

func (m *grypeMatch) add(into *collector) error {
	own := m.Vulnerability
	if own.ID == "" {
		return errors.New("its vulnerability has no id")
	}
	f := Finding{Severity: string(own.Severity), Package: join(string(m.Artifact.Name), string(m.Artifact.Version))}
	var names, paths []string
	var s scores
	for _, v := range append([]grypeVulnerability{own}, m.Related...) {
		names = append(names, string(v.ID))
		f.FixedIn = cmp.Or(f.FixedIn, versions(v.Fix.Versions))
		f.URL = cmp.Or(f.URL, firstLink(append(texts{string(v.DataSource)}, v.URLs...)...))
		f.Title = cmp.Or(f.Title, string(v.Description))
		if severity(f.Severity) == "unknown" {
			f.Severity = string(v.Severity)
		}
		for _, c := range v.CVSS {
			s.add(string(c.Version), c.Metrics.BaseScore, string(c.Vector))
		}
		s.add("2", v.CVSS2.BaseScore, string(v.CVSS2.Vector))
		s.add("3", v.CVSS3.BaseScore, string(v.CVSS3.Vector))
		for _, e := range v.EPSS {
			f.EPSS = max(f.EPSS, e.EPSS.within(1))
		}
		f.KEV = f.KEV || len(v.KnownExploited) > 0
	}
	f.ID, f.Aliases = identify(names...)
	f.CVSS, f.Vector = s.best(), s.unread
	for _, l := range m.Artifact.Locations {
		paths = append(paths, string(l.Path))
	}
	f.Location = strings.Join(paths, ", ")
	return into.add(f)
}
