// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Report is all that an output says.
type Report struct {
	Findings []Finding
	Targets  [][]string // what it says that was looked at, each with all its names; none where the format or the output tells none
	Made     time.Time  // when it says that its scan ended; zero where it does not
	Ended    bool       // the output itself shows that it is whole; of one that does not, the scanner's own end must tell
	Notes    []string   // what the scanner says that its findings leave open, each a line

	Incomplete bool // the scanner says that it could not try all: what it did not find may be there

	further []string // CVEs of findings that have more names than are kept
}

// CVEs are all that the report names, each once.
func (r Report) CVEs() []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.CVEs()...)
	}
	all = append(all, r.further...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Foreign returns the targets of the report that are not the asset, by the first of their names. An asset is told by its host,
// whatever scheme, port and path stand beside it.
func (r Report) Foreign(asset string) []string {
	var foreign []string
	asset = strings.ToLower(strings.TrimSpace(asset))
	for _, names := range r.Targets {
		if !slices.Contains(names, asset) && !slices.Contains(names, HostOf(asset)) {
			foreign = append(foreign, names[0])
		}
	}
	return foreign
}

// HostOf returns the host in a URL, in an address with a port, or by itself: a name in small letters, an address in its
// shortest form.
func HostOf(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
		if i := strings.IndexAny(s, "/?#"); i >= 0 {
			s = s[:i]
		}
		s = s[strings.LastIndexByte(s, '@')+1:]
	}
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	s = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ".")
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return s
}

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

// Names are the ids by which the finding is known, its own first.
func (f Finding) Names() []string { return append([]string{f.ID}, f.Aliases...) }

// CVEs are those among the finding's names, in capitals, each once. These are what KEV and EPSS are asked for.
func (f Finding) CVEs() []string {
	var all []string
	for _, name := range f.Names() {
		if cve := cveIn(name); cve != "" && !slices.Contains(all, cve) {
			all = append(all, cve)
		}
	}
	return all
}

// Sort puts the most severe first: in the order of Graver, and what is equal in that by id, package, location and title.
func Sort(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			Graver(a, b),
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Location, b.Location),
			cmp.Compare(a.Title, b.Title),
		)
	})
}

// Graver is negative when a is the graver of two: by severity, then as known to be exploited, then by CVSS and EPSS.
func Graver(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(b.Severity), rank(a.Severity)),
		cmp.Compare(bit(b.KEV), bit(a.KEV)),
		cmp.Compare(b.CVSS, a.CVSS),
		cmp.Compare(b.EPSS, a.EPSS),
	)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Identity is what makes a finding the same in the next scan: its id, its package, and its place without what differs each time.
func (f Finding) Identity() string { return f.ID + "\x00" + f.Package + "\x00" + f.Place() }

// Place is the finding's location without what differs in each scan.
func (f Finding) Place() string { return lasting(f.Location) }

var (
	// passing are the parts of a place that a scanner or a system makes up: a UUID, a digest, random characters, a time in seconds.
	passing = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9A-Za-z]{16,}|[0-9]{10,}`)

	// temporary are folders that are made for one run, and what stands directly below those in which they are made.
	temporary = regexp.MustCompile(`(?i)((?:^|[/\\ :])(?:tmp|temp|var/folders/[^/]+/[^/]+/t)[/\\])[^/\\]+([/\\])`)
	scratch   = regexp.MustCompile(`(?i)(^|[/\\ :])(tmp|temp)[._-]?[0-9a-z_]{5,}`)

	address = regexp.MustCompile(`(?i)^([a-z][a-z0-9+.-]*://)(?:[^/?#@]*@)?([^/?#]*)([^?#]*)`)
)

// lasting is a place without what differs in each scan: the query and the fragment of an address, folders for temporary files,
// and random parts of a name.
func lasting(place string) string {
	if m := address.FindStringSubmatch(place); m != nil { // it fails at the first characters of most places
		place = strings.ToLower(m[1]+m[2]) + m[3]
	} else if before, _, ok := strings.Cut(place, "?"); ok && strings.Contains(before, "/") {
		place = before // an address without its scheme
	}
	if lower := strings.ToLower(place); strings.Contains(lower, "tmp") || strings.Contains(lower, "temp") || strings.Contains(lower, "/folders/") {
		place = temporary.ReplaceAllString(place, "$1*$2")
		place = scratch.ReplaceAllString(place, "$1*")
	}
	if !strings.ContainsAny(place, "0123456789") {
		return place
	}
	return passing.ReplaceAllStringFunc(place, func(s string) string {
		if len(s) < 36 && !madeUp(s) {
			return s
		}
		return "*"
	})
}

// madeUp says whether characters are none of a word's: there are some digits among them, or one among letters of both sizes.
func madeUp(s string) bool {
	digits := 0
	for _, r := range s {
		if r <= '9' {
			digits++
		}
	}
	return digits > 2 || digits > 0 && strings.ToLower(s) != s && strings.ToUpper(s) != s
}
