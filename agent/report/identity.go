// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/findings"
)

// names are those of a finding, in small letters.
func names(f findings.Finding) []string {
	all := f.Names()
	for i, name := range all {
		all[i] = strings.ToLower(name)
	}
	return all
}

// akin says whether two findings that share a name can be one: an advisory has several CVEs, and is an alias of each.
func akin(a, b findings.Finding) bool {
	of, in := a.CVEs(), b.CVEs()
	return len(of) == 0 || len(in) == 0 || slices.ContainsFunc(of, func(id string) bool { return slices.Contains(in, id) })
}

// version is where a package's version begins, behind its name.
var version = regexp.MustCompile(` v?\d.*$`)

// packageName is a package without its version.
func packageName(p string) string {
	if i := version.FindStringIndex(p); i != nil {
		return p[:i[0]]
	}
	if i := strings.LastIndexByte(p, ' '); i > 0 {
		return p[:i]
	}
	return p
}

var (
	// line is where in a file something stands, at the end of a place: "app.py:42", "app.py:42:7", "app.yml: line 3".
	line = regexp.MustCompile(`(?:: line |:)\d+(?::\d+)?$`)

	// port ends a place on the network: "192.0.2.7:22/tcp", "web-01.example.com:8443".
	port = regexp.MustCompile(`:\d+(/[a-z]+)?$`)
)

// onNetwork says whether a place is an address: a URL, or a port of the asset or of an IP.
func onNetwork(place, asset string) bool {
	if strings.Contains(place, "://") {
		return true
	}
	i := port.FindStringIndex(place)
	if i == nil {
		return false
	}
	host := strings.Trim(place[:i[0]], "[]")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.Contains(place[i[0]:], "/") || host == "localhost" || strings.EqualFold(host, asset)
}

// withoutLine is the place of a finding in a file without its line number; a port is none.
func withoutLine(f findings.Finding, asset string) string {
	place := f.Place()
	if onNetwork(place, asset) {
		return place
	}
	return line.ReplaceAllString(place, "")
}

// keys are what two findings must share to be one, the strongest first; see the package comment. A finding may have none of a kind.
func keys() []func(asset string, f findings.Finding) (string, bool) {
	type finding = findings.Finding
	join := func(parts ...string) (string, bool) { return strings.Join(parts, "\x00"), true }
	return []func(string, finding) (string, bool){
		func(_ string, f finding) (string, bool) { return join(f.Title, f.Package, f.Place()) },
		func(_ string, f finding) (string, bool) { return join(f.Package, f.Place()) },
		func(_ string, f finding) (string, bool) { return join(packageName(f.Package), f.Place()) },
		func(asset string, f finding) (string, bool) { return join(f.Package, withoutLine(f, asset)) },
		func(asset string, f finding) (string, bool) {
			return join(packageName(f.Package), withoutLine(f, asset))
		},
		func(asset string, f finding) (string, bool) { return f.Place(), onNetwork(f.Place(), asset) },
		func(asset string, f finding) (string, bool) {
			return f.Package, f.Package != "" && !onNetwork(f.Place(), asset)
		},
		func(asset string, f finding) (string, bool) {
			return packageName(f.Package), f.Package != "" && !onNetwork(f.Place(), asset)
		},
	}
}

// match finds for each finding of now the one of base that is the same: its index, or -1. None of base is taken twice.
func match(asset string, now, base []findings.Finding) []int {
	to := slices.Repeat([]int{-1}, len(now))
	taken := make([]bool, len(base))
	for _, key := range keys() {
		for _, idOnly := range []bool{true, false} {
			known := map[string][]int{} // by name and key, those of base that are not taken
			for i, f := range base {
				if taken[i] {
					continue
				}
				if place, ok := key(asset, f); ok {
					for _, name := range namesFor(f, idOnly) {
						known[name+"\x00"+place] = append(known[name+"\x00"+place], i)
					}
				}
			}
			if len(known) == 0 {
				continue
			}
			for n, f := range now {
				if to[n] >= 0 {
					continue
				}
				place, ok := key(asset, f)
				if !ok {
					continue
				}
				for _, name := range namesFor(f, idOnly) {
					all := known[name+"\x00"+place]
					if i := slices.IndexFunc(all, func(i int) bool { return !taken[i] && akin(f, base[i]) }); i >= 0 {
						to[n], taken[all[i]] = all[i], true
						break
					}
				}
			}
		}
	}
	return to
}

func namesFor(f findings.Finding, idOnly bool) []string {
	all := names(f)
	if idOnly {
		return all[:1]
	}
	return all
}

// changes are the fields in which a finding differs from what it was, with what they were. The chance of exploitation (EPSS) changes
// every day, a place in each scan: these are no changes.
func changes(now, was findings.Finding) map[string]any {
	all := map[string]any{}
	if !strings.EqualFold(now.ID, was.ID) {
		all["id"] = was.ID
	}
	if now.Severity != was.Severity {
		all["severity"] = was.Severity
	}
	if now.CVSS != was.CVSS {
		all["cvss"] = was.CVSS
	}
	if now.Package != was.Package {
		all["package"] = was.Package
	}
	if now.Place() != was.Place() {
		all["location"] = was.Location
	}
	if now.FixedIn != was.FixedIn {
		all["fixed_in"] = was.FixedIn
	}
	if now.KEV && !was.KEV { // without intelligence nothing says that it is none any more
		all["kev"] = false
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
