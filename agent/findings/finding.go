// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"slices"
)

// Finding is one vulnerability at one place.
type Finding struct {
	ID       string   `json:"id"`                 // the CVE where the scanner names one, else the scanner's own id
	Severity string   `json:"severity"`           // info, low, medium, high, critical or unknown
	CVSS     float64  `json:"cvss,omitempty"`     // a base score, 0.1 to 10; 0 when the scanner gives none
	Title    string   `json:"title,omitempty"`    // one line
	Package  string   `json:"package,omitempty"`  // name and version, with a space between
	Location string   `json:"location,omitempty"` // a URL, address and port, path, or image
	Aliases  []string `json:"aliases,omitempty"`  // its other ids: further CVEs, GHSA, a template's name
	EPSS     float64  `json:"epss,omitempty"`     // probability of exploitation in the next 30 days, 0 to 1; 0 when not known
	KEV      bool     `json:"kev,omitempty"`      // it is in CISA's catalogue of known exploited vulnerabilities
	FixedIn  string   `json:"fixed_in,omitempty"` // the versions of the package that mend it, with commas between
	URL      string   `json:"url,omitempty"`      // where more is said of it, http or https
	Vector   string   `json:"vector,omitempty"`   // a CVSS vector that cannot be read, of a finding without a score

	apart string // what tells it from others of its id and place while an output is read, see marked
}

// CVEs are those among the finding's id and aliases, in capitals, each once. These are what KEV and EPSS are asked for.
func (f Finding) CVEs() []string {
	var all []string
	for _, name := range append([]string{f.ID}, f.Aliases...) {
		if cve := cveIn(name); cve != "" && !slices.Contains(all, cve) {
			all = append(all, cve)
		}
	}
	return all
}

// Sort puts the most severe first: by severity, then those known to be exploited, then by CVSS and EPSS, and what is equal
// in all of these by id, package, location and title.
func Sort(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank(b.Severity), rank(a.Severity)),
			cmp.Compare(bit(b.KEV), bit(a.KEV)),
			cmp.Compare(b.CVSS, a.CVSS),
			cmp.Compare(b.EPSS, a.EPSS),
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Location, b.Location),
			cmp.Compare(a.Title, b.Title),
		)
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
