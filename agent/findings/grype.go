// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"strings"
)

// grypeVulnerability is what Grype says of one id.
type grypeVulnerability struct {
	ID          text `json:"id"`
	Severity    text `json:"severity"`
	Description text `json:"description"`
	CVSS        []struct {
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

// parseGrype reads Grype's document. What its own rules or a VEX file ignore stands in ignoredMatches, and is no finding.
func parseGrype(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	found := false
	var descriptor struct {
		Name text `json:"name"`
	}
	err = d.object(fields{
		"matches": func() error {
			found = true
			return d.must(list(d, func(m *grypeMatch) error { return m.add(into) })) // Grype writes [] where it found nothing
		},
		"descriptor": d.value(&descriptor),
	})
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New(`it has no "matches"`)
	case descriptor.Name != "" && descriptor.Name != "grype":
		return fmt.Errorf("its descriptor names %s", clean(string(descriptor.Name), maxID))
	}
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
		f.Title = first(f.Title, string(v.Description))
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
	f.CVSS = s.best()
	for _, l := range m.Artifact.Locations {
		paths = append(paths, string(l.Path))
	}
	f.Location = strings.Join(paths, ", ")
	return into.add(f)
}
