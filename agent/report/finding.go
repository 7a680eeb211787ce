// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// Finding is a finding of an asset, as a report shows it.
type Finding struct {
	Asset    string   `json:"asset"`
	ID       string   `json:"id"`
	Aliases  []string `json:"aliases"`
	Severity string   `json:"severity"` // info, low, medium, high, critical or unknown
	CVSS     float64  `json:"cvss"`     // 0: the scanner gives none
	Title    string   `json:"title"`
	Package  string   `json:"package"` // name and version
	Location string   `json:"location"`
	KEV      bool     `json:"kev"`
	EPSS     float64  `json:"epss"` // 0: not known
	FixedIn  string   `json:"fixed_in"`
	URL      string   `json:"url"`

	Was map[string]any `json:"was,omitempty"` // of a changed one: what each field that differs was

	*Acceptance // nil: it is not accepted
}

// Acceptance is why a finding does not count.
type Acceptance struct {
	Reason string `json:"reason"`
	Until  string `json:"until"` // a day, the last on which it holds; "": for ever
	By     string `json:"by"`
}

func newFinding(asset string, f findings.Finding) Finding {
	return Finding{
		Asset: asset, ID: f.ID, Aliases: append([]string{}, f.Aliases...), Severity: f.Severity, CVSS: f.CVSS, Title: f.Title,
		Package: f.Package, Location: f.Location, KEV: f.KEV, EPSS: f.EPSS, FixedIn: f.FixedIn, URL: f.URL,
	}
}

// rank orders severities; what is unknown stands between low and medium, for it may be anything.
func rank(severity string) int {
	if severity == "unknown" {
		severity = client.SeverityLow
	}
	return slices.Index(client.Severities(), severity)
}

// graver compares what two findings are like, wherever they are: the more severe comes first.
func graver(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(b.Severity), rank(a.Severity)),
		-compareBool(a.KEV, b.KEV),
		cmp.Compare(b.CVSS, a.CVSS),
		cmp.Compare(b.EPSS, a.EPSS),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// bySeverity is graver, and by name what is equal in it.
func bySeverity(a, b Finding) int {
	return cmp.Or(
		graver(a, b),
		cmp.Compare(a.ID, b.ID),
		cmp.Compare(a.Package, b.Package),
		cmp.Compare(a.Asset, b.Asset),
		cmp.Compare(a.Location, b.Location),
		cmp.Compare(a.Title, b.Title),
	)
}
