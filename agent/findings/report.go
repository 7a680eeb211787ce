// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"net"
	"net/netip"
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
		if !slices.Contains(names, asset) && !slices.Contains(names, hostOf(asset)) {
			foreign = append(foreign, names[0])
		}
	}
	return foreign
}

// hostOf returns the host in a URL, in an address with a port, or by itself: a name in small letters, an address in its
// shortest form.
func hostOf(s string) string {
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
